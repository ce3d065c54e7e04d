"""Hidden folders in which something is being written, and what is left of them by a killed process.

A folder is written beside its place and then moved there, so nobody sees a half of it. If the
process is killed, the half stays until the same place is written to again; searches pass it by.
"""

import contextlib
import re
import shutil
import time
import uuid
from collections.abc import Iterable
from glob import escape
from pathlib import Path
from typing import Literal

_HIDDEN = re.compile(r"\..+\.[0-9a-f]{8}\.(new|old)", re.DOTALL)
_LONGEST = 3_600.0  # seconds, more than any report or archive is without writing

What = Literal["new", "old"]


def hidden_beside(place: Path) -> tuple[Path, Path]:
    """Return two names beside `place` that no other process has: for its new and its old folder."""
    # In a container every process may have the same number, so that is no name of its own.
    own = uuid.uuid4().hex[:8]
    new, old = (place.with_name(f".{place.name}.{own}.{what}") for what in ("new", "old"))
    return new, old


def is_hidden(name: str) -> bool:
    """Return True for a name of the kind that `hidden_beside` gives."""
    return _HIDDEN.fullmatch(name) is not None


def left_beside(place: Path, what: What) -> list[Path]:
    """Return the hidden folders beside `place` that were to become its new, or its old folder."""
    found = place.parent.glob(f".{escape(place.name)}.{'[0-9a-f]' * 8}.{what}")
    return [path for path in found if path.is_dir() and not path.is_symlink()]


def remove_leftovers(folders: Iterable[Path]) -> None:
    """Remove the folders in which nothing was written for long, so that their process is gone."""
    for folder in folders:
        with contextlib.suppress(OSError):  # its process lives, and has just moved something
            if time.time() - _written_at(folder) > _LONGEST:
                shutil.rmtree(folder, ignore_errors=True)


def _written_at(folder: Path) -> float:
    return max(path.lstat().st_mtime for path in (folder, *folder.rglob("*")))
