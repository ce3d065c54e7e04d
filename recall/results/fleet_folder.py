"""A fleet's folder: who works in it, and what it already holds."""

import contextlib
import fcntl
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from recall.errors import RecallError
from recall.results.store import read_description

FILMS = "films"  # the part of it for films that are given no other place

LOCK = "lock"
# What a process that was killed before it began may have left.
_OURS = (LOCK, "run.tmp")
# Where and how often, not what: a fleet that differs in these alone is the same fleet.
_NO_MATTER = ("workers", "checkpoint_minutes")


class FolderInUseError(RecallError):
    """The folder holds something else, or another process works in it."""


class NotWritableError(RecallError):
    """The folder is no folder, or not ours to write in."""


class FolderHeldError(FolderInUseError):
    """Another process works in the folder, for now."""


@contextlib.contextmanager
def hold(folder: Path, lock: str = LOCK) -> Iterator[None]:
    """Keep all other processes from training in `folder`.

    The lock is the kernel's, on a file that says who has it: however a process dies, its lock
    dies with it.
    """
    with _opened(folder, lock) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            raise FolderHeldError(
                f"{folder} is in use by {_holder(file.read())}: two processes cannot train there"
            ) from None
        file.truncate(0)
        file.write(json.dumps({"pid": os.getpid(), "host": socket.gethostname()}))
        file.flush()
        yield
        file.truncate(0)


def _opened(folder: Path, lock: str) -> TextIO:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return (folder / lock).open("a+")
    except OSError as error:
        raise NotWritableError(
            f"nothing can be written in {folder} ({error.strerror}): choose another folder"
        ) from error


def _holder(text: str) -> str:
    try:
        who = json.loads(text)
        return f"process {who['pid']} on {who['host']}"
    except (ValueError, KeyError, TypeError):
        return "another process"


def check_free(folder: Path, description: dict[str, Any]) -> None:
    """Refuse to start the described fleet in a folder that holds anything."""
    if not (folder / "run.json").exists():
        if any(path.name not in _OURS for path in folder.glob("*")):
            raise FolderInUseError(f"{folder} is not empty and holds no run: choose another folder")
        return
    check_same(folder, description)
    if is_finished(folder):
        raise FolderInUseError(f"{folder} holds this run already, finished")
    raise FolderInUseError(
        f"{folder} holds this run already, unfinished: `recall resume {folder}` goes on with it"
    )


def check_same(folder: Path, description: dict[str, Any]) -> None:
    """Refuse a folder that holds another fleet than the described one."""
    held = read_description(folder)
    if identity(held) != identity(json.loads(json.dumps(description))):
        raise FolderInUseError(
            f"{folder} holds a different run: {summary(held)}{_difference(held, description)}. "
            "Choose another folder"
        )


def is_finished(folder: Path) -> bool:
    """Whether there is nothing left to train."""
    return (folder / "outcome.json").exists()


def summary(description: dict[str, Any]) -> str:
    """A fleet in a few words."""
    sequences = dict.fromkeys(run["sequence"] for run in description["runs"])
    seeds = dict.fromkeys(run["seed"] for run in description["runs"])
    return (
        f"{description['method']['name']} on {' and '.join(sequences)}, "
        f"seeds {' '.join(map(str, seeds))}"
    )


def identity(description: dict[str, Any]) -> dict[str, Any]:
    """The part of a description that decides results."""
    settings = dict(description["settings"])
    settings["schedule"] = {
        name: value for name, value in settings["schedule"].items() if name not in _NO_MATTER
    }
    return {
        "method": description["method"],
        "runs": description["runs"],
        "settings": settings,
    }


def _difference(held: dict[str, Any], wanted: dict[str, Any]) -> str:
    """The first setting in which two fleets differ that look alike in a few words."""
    if summary(held) != summary(wanted):
        return ""
    one, other = (
        _leaves(identity(held)),
        _leaves(json.loads(json.dumps(identity(wanted)))),
    )
    for name in one:
        if name in other and one[name] != other[name]:
            return f", with {name.rpartition('.')[2]} {one[name]} and not {other[name]}"
    return ""


def _leaves(tree: Any, above: str = "") -> dict[str, Any]:
    if not isinstance(tree, dict):
        return {above: tree}
    return {
        name: leaf
        for key, item in tree.items()
        for name, leaf in _leaves(item, f"{above}.{key}").items()
    }
