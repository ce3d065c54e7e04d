"""Files compressed by xz. Reading one is bounded in memory and length, whoever made the file."""

import errno
import io
import lzma
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO, cast

from recall.errors import BadValueError
from recall.files.atomic import replacing

SUFFIX = ".xz"
_PRESET = 6 | lzma.PRESET_EXTREME
_BLOCK_BYTES = 1 << 16
_MEMORY_BYTES = 1 << 26
"""Memory that the decoder may take. Our own files need 9 MiB."""
LEAST_LIMIT_BYTES = 1 << 26
LARGEST_RATIO = 100
"""A file may expand to so many times its size, or to LEAST_LIMIT_BYTES. Records reach about 15."""


def write_xz(path: Path, lines: Iterable[bytes]) -> None:
    """Write lines to a compressed file, atomically. The same lines always give the same bytes.

    Raises BadValueError for lines that expand further than `open_xz` would read.
    """
    encoder = lzma.LZMACompressor(lzma.FORMAT_XZ, preset=_PRESET)
    length = size = 0
    with replacing(path) as file:
        for line in lines:
            length += len(line)
            size += file.write(encoder.compress(line))
        size += file.write(encoder.flush())
        if length > _limit(size):
            raise BadValueError(
                f"{path} would expand from {size:,} to {length:,} bytes, as no records do: they "
                "hold the same numbers again and again"
            )


def _limit(size: int) -> int:
    """Return how many bytes a file of `size` bytes may expand to."""
    return max(LEAST_LIMIT_BYTES, LARGEST_RATIO * size)


def open_xz(path: Path) -> BinaryIO:
    """Open a compressed file for reading.

    Reading raises OSError if the file is damaged, or if it would expand far more than records do.
    """
    return cast(BinaryIO, io.BufferedReader(_Expanded(path), _BLOCK_BYTES))


class _Expanded(io.RawIOBase):
    """The content of a compressed file."""

    def __init__(self, path: Path):
        self._path = path
        self._file = path.open("rb")
        size = os.fstat(self._file.fileno()).st_size
        self._limit = _limit(size)
        self._decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY_BYTES)
        self._length = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._decoder.eof:
            if data := self._next(len(buffer)):
                self._length += len(data)
                if self._length > self._limit:
                    raise self._damaged(f"it expands to more than {self._limit:,} bytes")
                buffer[: len(data)] = data
                return len(data)
        if self._decoder.unused_data or self._file.read(1):
            raise self._damaged("other data follow its end")
        return 0

    def _next(self, most: int) -> bytes:
        block = self._file.read(_BLOCK_BYTES) if self._decoder.needs_input else b""
        if self._decoder.needs_input and not block:
            raise self._damaged("it was cut short")
        try:
            return self._decoder.decompress(block, most)
        except (lzma.LZMAError, EOFError) as error:
            raise self._damaged(f"it is no xz file or is damaged: {error}") from error

    def _damaged(self, reason: str) -> OSError:
        return OSError(errno.EIO, reason, str(self._path))

    def close(self) -> None:
        self._file.close()
        super().close()
