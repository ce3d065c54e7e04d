"""Paths that others give: arguments of a caller, and folders that somebody else prepared."""

import contextlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from recall.errors import BadValueError, RecallError


def given_path(value: object, name: str, what: str = "folder") -> Path:
    """Return the path that the argument `name` gives, or refuse it; `what` is expected there."""
    if not isinstance(value, str | os.PathLike) or "\0" in str(value):
        raise BadValueError(f"{name} is {value!r}: expected a {what}, as a text or a Path")
    return Path(value)


def given_paths(value: object, name: str) -> list[Path]:
    """Return the paths of folders that the argument `name` gives, whether one or several."""
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | os.PathLike):
        return [given_path(each, name) for each in value]
    return [given_path(value, name)]


class UnsafeFolderError(RecallError):
    """A folder holds something through which a write would leave the folder or hang."""


def check_contained(folder: Path) -> None:
    """Raise an error if `folder` holds a link that leads out of it, or a pipe or a device.

    The folder itself may be a link.
    """
    root = folder.resolve()
    for where, folders, files in os.walk(root):
        for path in (Path(where, name) for name in (*folders, *files)):
            with contextlib.suppress(FileNotFoundError):  # another process removed it meanwhile
                mode = path.lstat().st_mode
                if stat.S_ISLNK(mode):
                    check_inside(path, root)
                elif not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                    raise UnsafeFolderError(f"{path} is neither a file nor a folder: remove it")


def check_inside(path: Path, folder: Path) -> None:
    """Raise an error if `path` is a link that leads out of `folder`."""
    if not is_inside(path, folder):
        raise UnsafeFolderError(f"{path} is a link that leads out of {folder}: remove it")


def is_inside(path: Path, folder: Path) -> bool:
    """Return True if `path`, with all links followed, lies in `folder`."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # a loop of links
        return False
