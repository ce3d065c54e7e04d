"""The archive of one fleet: which of its files are kept, and how they are written.

    run.json                without the machine's name, and folders and addresses in its command
    outcome.json            as it is
    evaluations.jsonl.xz    compressed
    training.jsonl.xz       compressed, and thinned if asked for
    policies/RUN/*.npz      of chosen runs, in float16
    archive.json            what was left out (recall.runs.archive_note)

A fleet whose files are damaged is not archived: `fault_of` says why.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import numpy as np

from recall.errors import BadValueError, RecallError
from recall.files.atomic import write_bytes, write_json
from recall.files.compressed import SUFFIX, write_xz
from recall.files.fleet_layout import (
    DESCRIPTION,
    FINAL,
    OUTCOME,
    RECORDS,
    learnt,
    policy_paths,
    records_file,
)
from recall.files.reading import parse_json
from recall.policies.file_format import pack_compactly, read_policy_file
from recall.runs.archive_note import ArchiveNote, read_note, write_note
from recall.runs.completeness import (
    due_steps,
    lost_at_end,
    lost_before_end,
    recorded_modes,
)
from recall.runs.curves import RunCurves, read_curves
from recall.runs.description import Description, is_edited, read_description
from recall.runs.json_lines import Record, find_records, open_records
from recall.runs.store import read_outcome
from recall.runs.way_out import for_lost_records, resuming
from recall.runs.wording import counted
from recall.version import version

PoliciesAt = Literal["both", "final", "learnt"]
_LABELS = {"both": "*", "final": FINAL, "learnt": learnt("*")}
# Keys of training records that are few and always kept.
_RARE = ("head_returns", "health", "dormant_pi")
_HIDDEN = "..."


@dataclass(frozen=True)
class Choice:
    """What an archive keeps."""

    policies: Sequence[str] = ()
    """Names of runs, or shell patterns of names, whose policies are kept."""
    policies_at: PoliciesAt = "both"
    training_every: int | None = None
    unfinished: bool = False

    def policy_files(self, folder: Path) -> list[Path]:
        """Return the policy files of a fleet that are kept."""
        return [
            path
            for run in read_description(folder)["runs"]
            if any(fnmatchcase(run["name"], pattern) for pattern in self.policies)
            for path in policy_paths(folder, run["name"], _LABELS[self.policies_at])
        ]


def fault_of(folder: Path, choice: Choice) -> str | None:
    """Return why a fleet cannot be archived, or None if it can."""
    try:
        description = read_description(folder)
        if is_edited(description):
            return f"{folder / DESCRIPTION} was edited after the fleet was started"
        outcome = read_outcome(folder)
        if outcome is None and not choice.unfinished:
            return (
                f"{folder} is unfinished: finish it with `{resuming(folder)}`, or give "
                "--unfinished to keep what there is"
            )
        read_note(folder)
        return _fault_of_records(folder, description, outcome, choice.unfinished)
    except RecallError as error:
        return str(error)
    except OSError as error:
        return f"{error.filename} cannot be read ({error.strerror})"


def _fault_of_records(
    folder: Path, description: Description, outcome: Mapping[str, Any] | None, unfinished: bool
) -> str | None:
    path, runs = find_records(folder, "evaluations"), description["runs"]
    if not path.exists():
        if outcome is None or len(outcome["failed"]) == len(runs):
            return f"{folder} has no evaluations"
        return f"{folder} is finished, but its evaluations are missing: restore them from a copy"
    curves, unread = read_curves(path, len(runs), len(runs[0]["tasks"]))
    if unread:
        return f"{path} has {counted(unread, 'line')} that cannot be used"
    for name in RECORDS:
        for _ in _lines(find_records(folder, name), whole=outcome is not None):
            pass
    if outcome is None or unfinished:
        return None
    for run, lost in _lost_by_runs(description, curves, outcome["failed"]):
        return (
            f"{run} in {folder} is finished, but {lost}: {for_lost_records(folder, path)}, or "
            "give --unfinished to keep what there is"
        )
    return None


def _lost_by_runs(
    description: Description, curves: Sequence[RunCurves], failed: Mapping[str, int]
) -> Iterator[tuple[str, str]]:
    """Yield the name of each run that lost evaluations, and which; failed runs end before."""
    modes, due = recorded_modes(curves), due_steps(curves)
    per_task = int(description["settings"]["schedule"]["steps_per_task"])
    for run, found in zip(description["runs"], curves, strict=True):
        if run["name"] in failed:
            continue
        total_steps = len(run["tasks"]) * per_task
        if lost := lost_at_end(found, modes, run["tasks"], total_steps):
            yield run["name"], lost
        elif gaps := lost_before_end(found, modes, due):
            yield run["name"], f"it lacks {counted(gaps, 'evaluation')} before its last step"


def write_fleet(source: Path, folder: Path, choice: Choice) -> None:
    """Write the archive of the fleet in `source` into a new folder."""
    folder.mkdir(parents=True, exist_ok=True)
    description = read_description(source)
    write_json(folder / DESCRIPTION, portable(description))
    if (source / OUTCOME).exists():
        write_bytes(folder / OUTCOME, (source / OUTCOME).read_bytes())
    before = read_note(source)
    every = _every(choice.training_every, before)
    for name in RECORDS:
        path = find_records(source, name)
        if path.exists():
            lines = _thinned(path, choice.training_every) if name == "training" else _all(path)
            write_xz(folder / f"{records_file(name)}{SUFFIX}", lines)
    files = choice.policy_files(source)
    for path in files:
        _write_policy(path, folder / path.relative_to(source))
    kept = tuple(dict.fromkeys(path.parent.name for path in files))
    write_note(folder, ArchiveNote(version(), every, kept))


def _every(asked: int | None, before: ArchiveNote | None) -> int | None:
    """Return how far the training records are thinned; archives may be thinned again."""
    known = [asked, before.training_every if before else None]
    return max((every for every in known if every is not None), default=None)


def portable(description: Description) -> Description:
    """Return the content of run.json without the names of machines, folders and addresses.

    What determines results is not touched, so the digest stays valid.
    """
    changed = dict(description)
    if isinstance(description.get("machine"), dict):
        changed["machine"] = {k: v for k, v in description["machine"].items() if k != "host"}
    if "command" in description:
        changed["command"] = _public(description["command"])
    if "plugins" in description:
        changed["plugins"] = [Path(name).name for name in description["plugins"]]
    return changed


def _public(command: Sequence[str]) -> list[str]:
    """Return a command without folders, and without the addresses of clusters and storage."""
    words: list[str] = []
    for word in command:
        option, equals, value = word.rpartition("=")
        if "://" in value or "--address" in (option, words[-1] if words else ""):
            value = _HIDDEN
        elif value.startswith(("/", "~", "..")):
            value = Path(value).name
        words.append(f"{option}{equals}{value}")
    return words


def _write_policy(source: Path, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = io.BytesIO()
    arrays: dict[str, Any] = pack_compactly(*read_policy_file(source))
    np.savez_compressed(content, **arrays)
    write_bytes(path, content.getvalue())


def _all(path: Path) -> Iterator[bytes]:
    return (line for line, _ in _lines(path))


def _thinned(path: Path, every: int | None) -> Iterator[bytes]:
    """Yield the lines of training records; of the frequent ones, each run's last in `every` steps.

    Choices of heads, plasticity and health warnings are all kept.
    """
    if every is None:
        yield from _all(path)
        return
    last: dict[tuple[int, int], int] = {}
    for _, record in _lines(path):
        if (place := _place(record, every)) is not None:
            last[place] = max(record["step"], last.get(place, 0))
    for line, record in _lines(path):
        place = _place(record, every)
        # A record of a fleet that still trains may have been added since the first pass.
        if place is None or last.get(place, record["step"]) == record["step"]:
            yield line


def _place(record: Record, every: int) -> tuple[int, int] | None:
    """Return the run and the interval of a record that may be left out; None if it is kept."""
    run, step = record.get("run"), record.get("step")
    if any(key in record for key in _RARE) or not (isinstance(run, int) and isinstance(step, int)):
        return None
    return run, -(-step // every)


def _lines(path: Path, whole: bool = False) -> Iterator[tuple[bytes, Record]]:
    """Yield every complete line with its record; raise an error if a line cannot be read.

    A last line without an end was cut short by a crash or is being written. It is skipped, but an
    error if the file should be `whole`.
    """
    if not path.exists():
        return
    with open_records(path) as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                if whole:
                    raise BadValueError(f"{path} ends in the middle of line {number}")
                return
            try:
                record = parse_json(line)
            except ValueError as error:
                raise BadValueError(f"line {number} of {path} cannot be read: {error}") from error
            if not isinstance(record, dict):
                raise BadValueError(f"line {number} of {path} cannot be read: it is not a record")
            yield line, record
