"""A fleet's folder: its lock, and checks of what it already holds."""

import contextlib
import fcntl
import json
import os
import shlex
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from recall.errors import BadValueError, RecallError
from recall.files.atomic import NotWritableError, temporary_of
from recall.files.fleet_layout import (
    CHECKPOINTS,
    DESCRIPTION,
    LOCK,
    RECORDS,
    REPLAY,
    TENSORBOARD,
    Status,
    failures_in,
    has_checkpoint,
    is_archive,
    records_file,
    status,
)
from recall.files.paths import check_contained
from recall.files.reading import parse_json, read_bytes
from recall.runs.description import Description, differences, identity, in_words, read_description


class FolderInUseError(RecallError):
    """The folder holds something else, or another process is working in it."""


class FolderHeldError(FolderInUseError):
    """Another process is currently working in the folder."""


@contextlib.contextmanager
def hold(folder: Path, lock: str = LOCK, wait: bool = False) -> Iterator[None]:
    """Keep all other processes from training in `folder`, once none does if `wait` is True.

    It is a kernel lock on a file that names its holder, so it is released however the process ends.
    """
    with open_lock(folder, lock) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
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


def open_lock(folder: Path, lock: str) -> TextIO:
    """Open the file of a lock, and create it and its folder if needed."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        folder.mkdir(parents=True, exist_ok=True)
        check_contained(folder)
        return os.fdopen(os.open(folder / lock, flags, 0o666), "a+")
    except OSError as error:
        raise NotWritableError(
            f"{folder} is not writable ({error.strerror}): choose another folder"
        ) from error


def _holder(text: bytes | str) -> str | None:
    with contextlib.suppress(ValueError, KeyError, TypeError):
        who = parse_json(text)
        return f"process {who['pid']} on {who['host']}"
    return None


def check_ours(folder: Path) -> None:
    """Raise an error if a folder holds anything that is not a fleet's; change nothing."""
    if not (folder / DESCRIPTION).exists():
        lock = folder / LOCK  # which a process killed during start-up may have left, like run.tmp
        others = {*folder.glob("*")} - {lock, temporary_of(folder / DESCRIPTION)}
        foreign = lock.is_file() and lock.stat().st_size and _holder(read_bytes(lock)) is None
        if others or foreign:
            raise FolderInUseError(
                f"{folder} is not empty and holds no fleet: choose a folder of its own, such as "
                f"{folder / 'NAME'}"
            )
        return
    try:
        read_description(folder)
    except RecallError as error:
        raise FolderInUseError(f"{error}. Choose another folder to train in") from error


def check_free(folder: Path, description: Description) -> None:
    """Raise an error if a folder in which a fleet is to be started holds anything.

    What is left of a start that failed before anything was saved is removed.
    """
    check_ours(folder)
    found = status(folder)
    if found is Status.EMPTY:
        return
    if found is Status.STARTED:
        replay, events = (f"{REPLAY}/task-*", f"{REPLAY}/old-*"), f"{TENSORBOARD}/*/events.out.*"
        # run.json goes last, as it marks the files as ours.
        for pattern in (*replay, events, *map(records_file, RECORDS), DESCRIPTION):
            for path in folder.glob(pattern):
                if not path.is_dir():
                    path.unlink()
        return
    check_same(folder, description)
    check_trainable(folder)
    how = f"unfinished: continue it with `{resume_command(folder)}`"
    if found.is_over:
        how = failures_in(folder) or "finished"
    raise FolderInUseError(f"{folder} already holds this run, {how}")


def check_trainable(folder: Path) -> None:
    """Raise an error if a fleet was archived, or if its checkpoints were removed before its end."""
    if is_archive(folder):
        raise FolderInUseError(
            f"{folder} is an archive and cannot be resumed: it has no checkpoints. Resume the "
            "fleet that it was made from, or train again in another folder"
        )
    if status(folder) is Status.UNFINISHED and not (folder / CHECKPOINTS).exists():
        raise FolderInUseError(
            f"{folder / CHECKPOINTS} is missing, though the fleet has results: restore the "
            "checkpoints from a copy, or train again in another folder"
        )


def check_unfinished(folder: Path) -> None:
    """Raise an error if nothing is left to train in a fleet's folder."""
    description = read_description(folder)
    check_trainable(folder)
    if not status(folder).is_over:
        return
    if failed := failures_in(folder):
        raise BadValueError(f"{folder} cannot be continued: {failed}. Train in another folder")
    raise BadValueError(f"{folder} is finished: {summary(description)}")


def resume_command(folder: Path) -> str:
    """Return what continues a fleet: a command, or a call from Python if tasks are functions."""
    try:
        description = read_description(folder)
    except (RecallError, OSError):
        description = {}
    if functions := description.get("functions"):
        from recall.config.stored import functions_argument

        return f"recall.resume({str(folder)!r}, {functions_argument(functions)})"
    plugins = [word for name in description.get("plugins", ()) for word in ("--plugin", name)]
    return shlex.join(["recall", "resume", str(folder), *plugins])


def after_full_disk(folder: Path) -> str:
    """Return what is left of a fleet that a full disk has stopped, and what to do then."""
    if not (folder / DESCRIPTION).exists():
        return "Nothing was saved: free some space, then train again"
    where = "from the last checkpoint" if has_checkpoint(folder) else "from the beginning"
    return f"Free some space, then `{resume_command(folder)}` continues {where}"


def check_same(folder: Path, description: Description) -> None:
    """Raise an error if a folder holds a fleet other than the described one."""
    from recall.config.stored import completed  # imports all methods, which takes a second

    held = completed(read_description(folder))
    if changes := differences(identity(held), identity(description)):
        raise FolderInUseError(
            f"{folder} holds a different run: {summary(held)}, with {in_words(changes)}. Choose "
            "another folder"
        )


def summary(description: Description) -> str:
    """Return a short description of a fleet: its method, sequences and seeds."""
    sequences = dict.fromkeys(run["sequence"] for run in description["runs"])
    seeds = dict.fromkeys(run["seed"] for run in description["runs"])
    return (
        f"{description['method']['name']} on {' and '.join(sequences)}, "
        f"seeds {' '.join(map(str, seeds))}"
    )
