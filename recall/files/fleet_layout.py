"""The layout of a fleet's folder: names of files and subfolders, and what state the fleet is in.

    run.json             what the fleet was started as; marks the folder as a fleet's
    evaluations.jsonl    records of evaluations; compressed in an archive (.jsonl.xz)
    training.jsonl       records of training; likewise
    outcome.json         how the fleet ended; written last
    archive.json         marks an archive, and names the runs whose policies it keeps
    lock                 held by the process that trains here
    checkpoints/N.npz    the state of training, numbered 1, 2, 3, ...
    policies/RUN/        task-K.npz after task K, final.npz at the end of the sequence
    replay/              transitions
    tensorboard/RUN/     events, if asked for
    films/               films without a given path

The folder of a study holds study.json beside the folders of its fleets.
"""

import enum
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from recall.files.atomic import is_hidden
from recall.files.names import PlainName, PlainPath
from recall.files.reading import XZ, read_json
from recall.files.stamps import DamagedFileError, Stamp, check

DESCRIPTION = "run.json"
RECORDS = ("evaluations", "training")
OUTCOME = "outcome.json"
ARCHIVE_NOTE = "archive.json"
LOCK = "lock"
CHECKPOINTS = "checkpoints"
POLICIES = "policies"
REPLAY = "replay"
TENSORBOARD = "tensorboard"
FILMS = "films"

POLICY_SUFFIX = ".npz"
FINAL = "final"
"""Label of the policies at the end of the sequence."""
STUDY = "study.json"
FLEET = DESCRIPTION
LOG = "progress.tsv"  # written by Continual World's own code
TRACES = "traces"

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """outcome.json: how a fleet ended."""

    schema: Literal[1] = 1
    finished: bool = True
    """False if every run failed before the end."""
    failed: dict[str, Count]
    """The step at which each failed run met a number that is not finite."""
    stamps: dict[PlainPath, tuple[Count, Count]] = msgspec.field(default_factory=dict)
    """Length and checksum of records and policies, by path; those of results/ have none."""


class StoredRun(msgspec.Struct):
    """A run in run.json."""

    name: PlainName
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
    sequence: str
    tasks: Annotated[list[str], msgspec.Meta(min_length=1)]
    own: dict[str, float] = {}


class _ArchiveNote(msgspec.Struct):
    training_every: Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)] | None = None


class StudyFleet(msgspec.Struct):
    """What study.json says about a fleet: its runs, how long it took, how often it was begun."""

    name: str
    variant: str
    runs: list[str]
    tasks: Count
    seconds: Annotated[float, msgspec.Meta(ge=0)]
    attempts: Count = 0


class StudyFile(msgspec.Struct):
    """What others than the study itself need of study.json."""

    schema: Literal[1]
    study: str
    choices: dict[str, Any]
    fleets: list[StudyFleet]
    shards: Count = 1


class Status(enum.Enum):
    """How far the fleet in a folder got. An archive has the status of what it was made from."""

    EMPTY = "empty"  # there is no fleet
    STARTED = "started"  # nothing is saved or evaluated yet
    UNFINISHED = "unfinished"  # in training, or to be resumed
    FAILED = "failed"  # every run failed
    FINISHED = "finished"

    @property
    def is_over(self) -> bool:
        """Return True if nothing is left to train."""
        return self in (Status.FAILED, Status.FINISHED)


def records_file(name: str) -> str:
    """Return the name of the file of one of RECORDS."""
    return f"{name}.jsonl"


def find_records(folder: Path, name: str) -> Path:
    """Return the file of a fleet's records, which an archive holds compressed."""
    plain = folder / records_file(name)
    compressed = folder / f"{records_file(name)}{XZ}"
    return compressed if compressed.exists() and not plain.exists() else plain


def learned(task: int) -> str:
    """Return the label of the policies after a task."""
    return f"task-{task}"


def policy_path(folder: Path, run: str, label: str) -> Path:
    """Return the path of a run's policies, whose label is FINAL or that of a learned task."""
    return folder / POLICIES / run / f"{label}{POLICY_SUFFIX}"


def policy_paths(folder: Path, run: str) -> list[Path]:
    """Return the policy files of a run that exist, sorted."""
    return sorted((folder / POLICIES / run).glob(f"*{POLICY_SUFFIX}"))


def fleets_below(folder: Path, depth: int = 1) -> list[Path]:
    """Return the folders of fleets at a depth below `folder`, sorted, without half-written ones."""
    found = (path.parent for path in folder.glob("*/" * depth + DESCRIPTION))
    return sorted(path for path in found if not any(map(is_hidden, path.relative_to(folder).parts)))


def no_fleet(folder: Path) -> str:
    """Return why a folder without run.json cannot be used, with the fleets that lie below it."""
    # Studies have their fleets in the folder itself, and folders of studies one further down.
    below = sorted([*fleets_below(folder), *fleets_below(folder, 2)])
    if below:
        named = ", ".join(map(str, below[:8])) + ", ..." * (len(below) > 8)
        return f"{folder} is no fleet, but a folder of fleets: name one of them ({named})"
    if any((folder / name).exists() for name in (CHECKPOINTS, POLICIES, OUTCOME)):
        return f"{folder} has lost its {DESCRIPTION}, without which nothing in it can be used"
    return f"{folder} holds no results: there is no {DESCRIPTION} in it"


def folders_below(top: Path, unreadable: Callable[[OSError], None]) -> Iterator[tuple[Path, str]]:
    """Yield every folder from `top` downwards that holds runs or traces of a fleet.

    The second value is FLEET, LOG or TRACES. Links are followed, each folder once. Archives that
    are being written, or were when their process was killed, are passed by.
    """
    traces = {LOCK, OUTCOME, *(records_file(name) + end for name in RECORDS for end in ("", XZ))}
    walked: set[str] = set()  # links may form a cycle
    for where, below, files in os.walk(top, onerror=unreadable, followlinks=True):
        kind = next((name for name in (FLEET, LOG) if name in files), None)
        if kind is None and traces.intersection(files):
            kind = TRACES
        # Checkpoints and policies hold no further runs.
        seen = os.path.realpath(where) in walked
        below[:] = [] if kind or seen else sorted(name for name in below if not is_hidden(name))
        walked.add(os.path.realpath(where))
        if kind and not seen:
            yield Path(where), kind


def is_archive(folder: Path) -> bool:
    """Return True if a folder is the archive of a fleet, which may lack policies on purpose."""
    return (folder / ARCHIVE_NOTE).exists()


def training_every(folder: Path) -> int | None:
    """Return in how many steps one training record is left, if an archive was thinned."""
    path = folder / ARCHIVE_NOTE
    return read_json(path, kind=_ArchiveNote).training_every if path.exists() else None


def has_checkpoint(folder: Path) -> bool:
    """Return True if a checkpoint was written; unfinished ones have other names."""
    return any(folder.glob(f"{CHECKPOINTS}/*.npz"))


def read_outcome(folder: Path) -> Outcome | None:
    """Read outcome.json; return None before the end of training."""
    path = folder / OUTCOME
    if not path.exists():
        return None
    way_out = "restore it from a copy"
    if (folder / CHECKPOINTS).is_dir():
        way_out += ", or remove it and resume the fleet, which writes it again"
    return read_json(path, way_out, kind=Outcome)


def failures_in(folder: Path) -> str:
    """Return which runs failed at which step if every run of a fleet failed; empty for others."""
    outcome = read_outcome(folder)
    return "" if outcome is None or outcome.finished else failures(outcome.failed)


def failures(failed: Mapping[str, int]) -> str:
    """Return which runs failed at which step, for a fleet of which no other run is left."""
    return "every run failed: " + ", ".join(
        f"{name} at step {step:,}" for name, step in failed.items()
    )


def status(folder: Path) -> Status:
    """Return how far the fleet in a folder got; raise BadValueError if outcome.json is damaged."""
    if not (folder / DESCRIPTION).exists():
        return Status.EMPTY
    if outcome := read_outcome(folder):
        return Status.FINISHED if outcome.finished else Status.FAILED
    evaluations = folder / records_file("evaluations")
    saved = (
        has_checkpoint(folder)
        or is_archive(folder)
        or any(folder.glob(f"{POLICIES}/*/*{POLICY_SUFFIX}"))
        or (evaluations.exists() and (evaluations.is_dir() or evaluations.stat().st_size))
    )
    return Status.UNFINISHED if saved else Status.STARTED


def check_written(folder: Path, paths: Iterable[Path] | None = None) -> None:
    """Raise DamagedFileError if a file is not what a fleet or archive left at its end.

    Without `paths`, all its records are checked. Files without a stamp are not.
    """
    outcome = read_outcome(folder)
    stamps = outcome.stamps if outcome is not None else {}
    names = [path.relative_to(folder).as_posix() for path in paths or ()]
    if paths is None:
        names = [name for name in stamps if not name.startswith(f"{POLICIES}/")]
    try:
        for name in sorted(stamps.keys() & names):
            check(folder / name, Stamp(*stamps[name]), whole=True)
    except DamagedFileError as error:
        raise DamagedFileError(f"{error}: restore it from a copy") from error
