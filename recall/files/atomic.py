"""Atomic writes: readers see the complete old file or folder, or the complete new one."""

import contextlib
import errno
import json
import math
import os
import re
import shutil
import time
import uuid
from collections.abc import Iterable, Iterator
from glob import escape
from pathlib import Path
from typing import Any, BinaryIO

from recall.errors import RecallError
from recall.files.stamps import Stamp

NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a full disk, or of a user's share of it."""
TEMPORARY = ".tmp"
"""Suffix of files that are being written."""
_HIDDEN = re.compile(r"\..+\.[0-9a-f]{8}\.new", re.DOTALL)
_LONGEST_PAUSE = 3_600.0  # seconds, more than any report or archive is without writing


class NotWritableError(RecallError):
    """A path cannot be written to."""


def temporary_of(path: Path) -> Path:
    """Return the file that `replacing` writes before it replaces `path`."""
    return path.with_suffix(TEMPORARY)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` at the end of the context, or is removed.

    It is on disk before it replaces the old file, so a power cut cannot leave an empty file.
    """
    # "x" refuses to follow a link that was put there.
    with replacement(path, temporary_of(path)) as temporary, temporary.open("xb") as file:
        yield file


@contextlib.contextmanager
def replacement(path: Path, temporary: Path) -> Iterator[Path]:
    """Let the caller write the file `temporary`, which then replaces `path`, or is removed."""
    temporary.unlink(missing_ok=True)
    try:
        yield temporary
        sync(temporary)
        temporary.replace(path)
        sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def writing_to(path: Path) -> Iterator[None]:
    """Turn errors of the system, such as a read-only disk, into one that names `path`."""
    try:
        yield
    except OSError as error:
        raise NotWritableError(
            f"{path} cannot be written ({error.strerror or error}): choose another place, or free "
            "some space"
        ) from error


def sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_bytes(path: Path, data: bytes) -> Stamp:
    """Write a file atomically; return its stamp."""
    with replacing(path) as file:
        file.write(data)
    return Stamp().after(data)


def write_text(path: Path, text: str) -> Stamp:
    """Write a text in UTF-8 atomically; return the file's stamp."""
    return write_bytes(path, text.encode())


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file atomically, with None for NaN and infinity, which JSON lacks."""
    write_text(path, json.dumps(plain(content), indent=1))


def plain(value: Any) -> Any:
    """Replace NaN and infinity, which JSON lacks, by None."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@contextlib.contextmanager
def new_folder(place: Path) -> Iterator[Path]:
    """Let the caller fill a hidden folder, which then becomes `place`, or is removed."""
    place = place.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(place.parent.glob(f".{escape(place.name)}.{'[0-9a-f]' * 8}.new"))
    new = hidden_name(place)
    new.mkdir()
    try:
        yield new
        new.rename(place)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


def hidden_name(place: Path) -> Path:
    """Return a unique hidden name beside `place`."""
    # In a container every process may have the same number, so that is not unique.
    return place.with_name(f".{place.name}.{uuid.uuid4().hex[:8]}.new")


def is_hidden(name: str) -> bool:
    """Return True for a name of the kind that `hidden_name` gives."""
    return _HIDDEN.fullmatch(name) is not None


def remove_leftovers(folders: Iterable[Path]) -> None:
    """Remove the folders in which nothing was written for long, so that their process is gone."""
    for folder in folders:
        with contextlib.suppress(OSError):  # its process lives, and has just moved something
            written = max(path.lstat().st_mtime for path in (folder, *folder.rglob("*")))
            if time.time() - written > _LONGEST_PAUSE:
                shutil.rmtree(folder, ignore_errors=True)
