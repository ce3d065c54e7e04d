"""Stamps: the length and CRC-32 of a file, or of its beginning, by which damage is detected."""

import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from recall.errors import RecallError
from recall.files.names import PlainPath
from recall.files.reading import open_file

_BLOCK_BYTES = 1 << 22


class DamagedFileError(RecallError):
    """A file is lost, too short, or has other content than was written."""


class Stamp(NamedTuple):
    """Length in bytes and CRC-32 of a file or of its beginning."""

    length: int = 0
    digest: int = 0

    def after(self, data: bytes | memoryview) -> "Stamp":
        """Return the stamp of the same content with `data` appended."""
        return Stamp(self.length + len(data), zlib.crc32(data, self.digest))


Stamps = Mapping[str, Stamp]


def stamp_of(file: BinaryIO, length: int = 1 << 63) -> Stamp:
    """Return the stamp of at most `length` bytes from the file's position."""
    stamp = Stamp()
    while stamp.length < length and (block := file.read(min(_BLOCK_BYTES, length - stamp.length))):
        stamp = stamp.after(block)
    return stamp


def check(path: Path, stamp: Stamp, whole: bool = False) -> None:
    """Raise DamagedFileError unless the file begins with the content of the stamp.

    A file that should be `whole` has no more than that.
    """
    if not (stamp.length or whole):
        return
    try:
        with open_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            fits = size == stamp.length if whole else size >= stamp.length
            found = stamp_of(file, stamp.length) if fits else None
    except FileNotFoundError:
        raise DamagedFileError(f"{path} is lost") from None
    except OSError as error:
        raise DamagedFileError(f"{path} cannot be read ({error.strerror})") from error
    if found is None:
        raise DamagedFileError(f"{path} is damaged: it has {size} bytes and not {stamp.length}")
    if found != stamp:
        raise DamagedFileError(f"{path} is damaged: its checksum does not match its content")


def check_all(folder: Path, stamps: Stamps) -> None:
    """Check every file of `stamps`, which are named by their paths relative to `folder`."""
    for name, stamp in stamps.items():
        check(folder / name, stamp)


def read_stamps(plain: Mapping[str, list[int]]) -> dict[str, Stamp]:
    """Return stamps from the lists that JSON has made of them."""
    pairs = msgspec.convert(plain, dict[PlainPath, tuple[int, int]])
    return {name: Stamp(*pair) for name, pair in pairs.items()}
