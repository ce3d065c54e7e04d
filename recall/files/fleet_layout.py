"""The layout of a fleet's folder: the names of its files and subfolders, each defined once.

    run.json             what the fleet was started as; marks the folder as a fleet's
    evaluations.jsonl    records of evaluations; compressed in an archive (.jsonl.xz)
    training.jsonl       records of training; likewise
    outcome.json         how the fleet ended; written last
    archive.json         marks an archive, and says what was left out
    lock                 held by the process that trains here
    checkpoints/N/       the state of training, numbered 1, 2, 3, ...
    policies/RUN/        task-K.npz after task K, final.npz at the end of the sequence
    replay/              transitions
    tensorboard/RUN/     events, if asked for
    films/               films without a given path

The folder of a study holds study.json beside the folders of its fleets.
"""

from pathlib import Path

from recall.files.leftovers import is_hidden

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

FINAL = "final"
"""Label of the policies at the end of the sequence."""
POLICY_SUFFIX = ".npz"

STUDY = "study.json"
STUDY_SCHEMA = 1
"""Version of study.json, which a study writes and reports read."""


def records_file(name: str) -> str:
    """Return the name of the file of one of RECORDS."""
    return f"{name}.jsonl"


def learnt(task: int | str) -> str:
    """Return the label of the policies after a task; "*" as `task` makes a pattern for all."""
    return f"task-{task}"


def policy_path(folder: Path, run: str, label: str) -> Path:
    """Return the path of a run's policies, whose label is FINAL or that of a learnt task."""
    return folder / POLICIES / run / f"{label}{POLICY_SUFFIX}"


def policy_paths(folder: Path, run: str, labels: str = "*") -> list[Path]:
    """Return the policy files of a run that exist, sorted; `labels` is a pattern of labels."""
    return sorted((folder / POLICIES / run).glob(f"{labels}{POLICY_SUFFIX}"))


def fleets_below(folder: Path, depth: int = 1) -> list[Path]:
    """Return the folders of fleets at a depth below `folder`, sorted, without half-written ones."""
    found = (path.parent for path in folder.glob("*/" * depth + DESCRIPTION))
    return sorted(path for path in found if not any(map(is_hidden, path.relative_to(folder).parts)))


def is_archive(folder: Path) -> bool:
    """Return True if a folder is the archive of a fleet, which may lack policies on purpose."""
    return (folder / ARCHIVE_NOTE).exists()


def has_checkpoint(folder: Path) -> bool:
    """Return True if a checkpoint was written; unfinished ones have other names."""
    return any(path.name.isdigit() for path in folder.glob(f"{CHECKPOINTS}/*"))
