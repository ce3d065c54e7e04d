"""What a user can do about a fleet that was interrupted, or whose files are lost or damaged.

A finished fleet whose outcome.json is removed can be resumed like one that was stopped just before
its end: from the checkpoint behind its last stage, it writes the evaluation at its last step, its
final policies and its outcome again. Earlier checkpoints may need transitions that it has removed.
"""

import shlex
from pathlib import Path

from recall.config.stored import functions_argument
from recall.errors import RecallError
from recall.files.fleet_layout import CHECKPOINTS, DESCRIPTION, OUTCOME, has_checkpoint, is_archive
from recall.runs.description import read_description


def resuming(folder: Path) -> str:
    """Return what continues a fleet: a command as a shell takes it, or a call from Python.

    The command names the fleet's plug-ins. Tasks that are functions can be given from Python only.
    """
    try:
        description = read_description(folder)
    except (RecallError, OSError):
        description = {}
    if functions := description.get("functions"):
        return f"recall.resume({str(folder)!r}, {functions_argument(functions)})"
    plugins = [word for name in description.get("plugins", ()) for word in ("--plugin", name)]
    return shlex.join(["recall", "resume", str(folder), *plugins])


def with_more_space(folder: Path) -> str:
    """Return what is left of a fleet that a full disk has stopped, and what to do then."""
    if has_checkpoint(folder):
        kept = "The last checkpoint is intact"
        return f"{kept}: free some space, then continue with `{resuming(folder)}`"
    if (folder / DESCRIPTION).exists():
        again = f"`{resuming(folder)}` starts from the beginning"
        return f"No checkpoint was written yet: free some space, then {again}"
    return "Nothing was saved: free some space, then train again"


def ending_again(folder: Path) -> str | None:
    """Return what makes a finished fleet write the files of its end again; None if nothing does."""
    if not (folder / OUTCOME).exists() or not _has_checkpoints(folder):
        return None
    return f"move {folder / OUTCOME} away and run `{resuming(folder)}`, which writes them again"


def for_outcome(folder: Path) -> str:
    """Return what to do about a damaged outcome.json."""
    if not _has_checkpoints(folder):
        return "restore it from a copy"
    return f"remove it and run `{resuming(folder)}`, which writes it again"


def for_lost_records(folder: Path, path: Path) -> str:
    """Return what to do about the file `path` of a finished fleet that has lost records."""
    restore = f"restore {path.name} from a copy"
    again = ending_again(folder)
    return (
        f"{restore}, or, if only records of its last step are lost, {again}" if again else restore
    )


def _has_checkpoints(folder: Path) -> bool:
    return not is_archive(folder) and (folder / CHECKPOINTS).is_dir()
