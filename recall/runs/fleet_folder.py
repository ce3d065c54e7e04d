"""A fleet's folder: its lock, and checks of what it already holds."""

import contextlib
import fcntl
import json
import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TextIO

from recall.config.stored import completed
from recall.errors import RecallError
from recall.files.atomic import NotWritableError, temporary_of
from recall.files.contained import check_contained
from recall.files.fleet_layout import (
    CHECKPOINTS,
    DESCRIPTION,
    LOCK,
    OUTCOME,
    POLICIES,
    POLICY_SUFFIX,
    RECORDS,
    REPLAY,
    TENSORBOARD,
    has_checkpoint,
    is_archive,
    records_file,
)
from recall.runs.archive_note import check_trainable
from recall.runs.description import Description, differences, identity, read_description
from recall.runs.store import read_outcome
from recall.runs.way_out import resuming

# Files that a process killed during start-up may have left.
_OURS = (LOCK, temporary_of(Path(DESCRIPTION)).name)
_NAMED = 3  # other folders in a message


class FolderInUseError(RecallError):
    """The folder holds something else, or another process is working in it."""


class FolderHeldError(FolderInUseError):
    """Another process is currently working in the folder."""


@contextlib.contextmanager
def hold(folder: Path, lock: str = LOCK) -> Iterator[None]:
    """Keep all other processes from training in `folder`.

    The lock is a kernel lock on a file that names its holder, so it is released however the
    process ends. A folder with links that lead out of it is refused.
    """
    with _opened(folder, lock) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = _holder(file.read()) or "another process"
            raise FolderHeldError(
                f"{folder} is in use by {holder}: two processes cannot train there"
            ) from None
        except OSError as error:
            raise NotWritableError(
                f"{folder} cannot be locked ({error.strerror}): choose a folder on another disk"
            ) from error
        file.truncate(0)
        file.write(json.dumps({"pid": os.getpid(), "host": socket.gethostname()}))
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


def _opened(folder: Path, lock: str) -> TextIO:
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        folder.mkdir(parents=True, exist_ok=True)
        check_contained(folder)
        return os.fdopen(os.open(folder / lock, flags, 0o666), "a+")
    except OSError as error:
        raise NotWritableError(
            f"{folder} is not writable ({error.strerror}): choose another folder"
        ) from error


def _holder(text: str) -> str | None:
    try:
        who = json.loads(text)
        return f"process {who['pid']} on {who['host']}"
    except (ValueError, KeyError, TypeError):
        return None


def check_ours(folder: Path) -> None:
    """Raise an error if a folder holds anything that is not a fleet's; change nothing."""
    if not (folder / DESCRIPTION).exists():
        if any(path.name not in _OURS for path in folder.glob("*")) or _is_other_lock(folder):
            raise FolderInUseError(_no_place(folder))
        return
    try:
        read_description(folder)
    except RecallError as error:
        raise FolderInUseError(f"{error}. Choose another folder to train in") from error


def _no_place(folder: Path) -> str:
    """Return why a folder that holds no run, but other things, is no place for a fleet."""
    others = sorted(path.name for path in folder.iterdir() if path.is_dir())
    if not others:
        return f"{folder} is not empty and holds no run: choose another folder"
    named = ", ".join(others[:_NAMED]) + (", ..." if len(others) > _NAMED else "")
    return (
        f"{folder} holds other folders ({named}), and a fleet needs a folder of its own: choose "
        f"one such as {folder / 'NAME'}"
    )


def _is_other_lock(folder: Path) -> bool:
    """Return True if the file `lock` was not written by `hold`."""
    path = folder / LOCK
    if not path.is_file():
        return path.exists()
    try:
        text = path.read_text("utf-8")
    except OSError:
        return False  # `hold` tells why it cannot be opened
    except ValueError:
        return True
    return bool(text) and _holder(text) is None


def check_free(folder: Path, description: Description) -> None:
    """Raise an error if a folder in which a fleet is to be started holds anything.

    A start that failed before anything was saved left nothing that could be continued. Its files
    are removed.
    """
    check_ours(folder)
    if not (folder / DESCRIPTION).exists():
        return
    if _holds_nothing(folder):
        _clear(folder)
        return
    check_same(folder, description)
    if is_finished(folder):
        how = all_failed(folder) or "finished"
        raise FolderInUseError(f"{folder} already holds this run, {how}")
    check_trainable(folder)
    raise FolderInUseError(
        f"{folder} already holds this run, unfinished: continue it with `{resuming(folder)}`"
    )


def _holds_nothing(folder: Path) -> bool:
    """Return True if a fleet was started here but nothing of it was saved or evaluated."""
    evaluations = folder / records_file("evaluations")
    return not (
        has_checkpoint(folder)
        or is_finished(folder)
        or is_archive(folder)
        or any(folder.glob(f"{POLICIES}/*/*{POLICY_SUFFIX}"))
        or (evaluations.exists() and (evaluations.is_dir() or evaluations.stat().st_size))
    )


def check_resumable(folder: Path) -> None:
    """Raise an error if a fleet's checkpoints were removed, but not what it had recorded."""
    if not (folder / CHECKPOINTS).exists() and not _holds_nothing(folder):
        raise FolderInUseError(
            f"{folder / CHECKPOINTS} is missing, though the fleet has results: it would start from "
            "the beginning and lose them. Restore the checkpoints from a copy, or train again in "
            "another folder"
        )


def _clear(folder: Path) -> None:
    """Remove the files of a start that failed; run.json goes last, as it marks them as ours."""
    for pattern in (
        f"{REPLAY}/task-*",
        f"{REPLAY}/old-*",
        f"{TENSORBOARD}/*/events.out.*",
        *map(records_file, RECORDS),
    ):
        for path in folder.glob(pattern):
            if not path.is_dir():
                path.unlink()
    (folder / DESCRIPTION).unlink()


def check_same(folder: Path, description: Description) -> None:
    """Raise an error if a folder holds a fleet other than the described one."""
    held = read_description(folder)
    held["settings"] = completed(held["settings"])
    if identity(held) != identity(description):
        raise FolderInUseError(
            f"{folder} holds a different run: {summary(held)}{_difference(held, description)}. "
            "Choose another folder"
        )


def all_failed(folder: Path) -> str | None:
    """Return a sentence about a fleet that ended because every run failed, or None for others."""
    failed = (read_outcome(folder) or {"failed": {}})["failed"]
    return failures(failed) if len(failed) == len(read_description(folder)["runs"]) else None


def failures(failed: Mapping[str, int]) -> str:
    """Return which runs failed at which step, for a fleet of which no other run is left."""
    return "every run failed: " + ", ".join(
        f"{name} at step {step:,}" for name, step in failed.items()
    )


def is_finished(folder: Path) -> bool:
    """Return True if the fleet in a folder has finished training."""
    return (folder / OUTCOME).exists()


def summary(description: Description) -> str:
    """Return a short description of a fleet: its method, sequences and seeds."""
    sequences = dict.fromkeys(run["sequence"] for run in description["runs"])
    seeds = dict.fromkeys(run["seed"] for run in description["runs"])
    return (
        f"{description['method']['name']} on {' and '.join(sequences)}, "
        f"seeds {' '.join(map(str, seeds))}"
    )


def _difference(held: Description, wanted: Description) -> str:
    """Return the first setting in which two fleets with equal summaries differ, as text."""
    if summary(held) != summary(wanted):
        return ""
    for name, one, other in differences(identity(held), identity(wanted)):
        return f", with {name.rpartition('.')[2]} {one} and not {other}"
    return ""
