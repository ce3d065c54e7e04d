"""The door through which files of a folder are read, whoever made the folder.

Only regular files are opened, so a pipe or a device in the place of a file is an error and never
waited for. JSON, compressed files and the arrays of an .npz file are bounded before they are read.
"""

import contextlib
import errno
import lzma
import os
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from recall.errors import BadValueError

if TYPE_CHECKING:
    import numpy as np

SCHEMA = 1
"""Version of run.json and study.json."""
XZ = ".xz"
"""Suffix of compressed files."""
MOST_JSON_BYTES = 1 << 26
MOST_LINE_BYTES = 1 << 24
MOST_XZ_MEMORY_BYTES = 1 << 26
"""Memory that the decoder may take. Our own files need 9 MiB."""
MOST_EXPANDED_BYTES = 1 << 26
"""What any compressed file may expand to; a larger one to a number of times its own size."""
_XZ_RATIO = 100  # records reach about 15
_NPZ_RATIO = 20  # trained layers reach about 1.2
_BLOCK_BYTES = 1 << 20
_LARGEST_INTEGER = (1 << 63) - 1


def open_file(path: Path) -> BinaryIO:
    """Open a regular file for reading; raise OSError for anything else, without waiting."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISREG(kind):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "it is no regular file", str(path))


def read_bytes(path: Path) -> bytes:
    """Return the content of a file; raise OSError if it has more than MOST_JSON_BYTES."""
    with open_file(path) as file:
        content = file.read(MOST_JSON_BYTES + 1)
    if len(content) > MOST_JSON_BYTES:
        raise OSError(errno.EFBIG, f"it has more than {MOST_JSON_BYTES:,} bytes", str(path))
    return content


def read_json(path: Path, way_out: str = "restore it from a copy", *, kind: Any = Any) -> Any:
    """Return the content of a JSON file as a `kind`, such as a msgspec.Struct.

    Raises BadValueError, which ends in the `way_out`, if it cannot be read or has other content.
    """
    try:
        return parse_json(read_bytes(path), kind)
    except OSError as error:
        raise BadValueError(f"{path} cannot be read ({error.strerror})") from error
    except msgspec.ValidationError as error:
        raise _unexpected(path, error, way_out) from error
    except ValueError as error:
        raise BadValueError(f"{path} is not valid JSON ({error}): {way_out}") from error


def read_checked(path: Path, kind: Any, way_out: str = "restore it from a copy") -> Any:
    """Return the content of a JSON file that is a `kind`, as it is, with what the kind lacks."""
    content = read_json(path, way_out)
    if isinstance(content, dict) and content.get("schema", SCHEMA) != SCHEMA:  # newer, not damaged
        raise BadValueError(
            f"{path} has schema {repr(content['schema'])[:80]}; this version reads {SCHEMA}"
        )
    try:
        msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        raise _unexpected(path, error, way_out) from error
    return content


def _unexpected(path: Path, fault: object, way_out: str) -> BadValueError:
    return BadValueError(f"{path} was damaged or edited ({fault}): {way_out}")


def parse_json(data: bytes | str, kind: Any = Any) -> Any:
    """Decode JSON as a `kind`; raise ValueError for anything else, however it is wrong.

    Without a kind, integers must fit 64 bits; a kind says with its own bounds what fits.
    """
    try:
        content = msgspec.json.decode(data, type=kind)
        if kind is Any:
            _check_integers(content)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return content


def _check_integers(content: Any) -> None:
    if isinstance(content, dict | list):
        for item in content.values() if isinstance(content, dict) else content:
            _check_integers(item)
    elif isinstance(content, int) and not -_LARGEST_INTEGER <= content <= _LARGEST_INTEGER:
        raise ValueError("it has a whole number that does not fit 64 bits")


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, which may be compressed.

    Raises OSError if it cannot be read, is damaged, or has a line that no record is as long as.
    """
    rest = b""
    with open_file(path) as file:
        plain = iter(lambda: file.read(_BLOCK_BYTES), b"")
        for block in _expanded(file, path) if path.suffix == XZ else plain:
            *lines, rest = (rest + block).split(b"\n")
            yield from (line + b"\n" for line in lines)
            if len(rest) > MOST_LINE_BYTES:
                raise _damaged(path, f"it has a line of more than {MOST_LINE_BYTES:,} bytes")
    if rest:
        yield rest


def complete_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, without a last one that is cut short."""
    return (line for line in read_lines(path) if line.endswith(b"\n"))


def decoded(lines: list[bytes], kind: Any) -> list[Any]:
    """Return the records in some lines of JSON, without those that are no `kind`."""
    try:  # all at once, which is faster than line by line
        return parse_json(b"[" + b",".join(lines) + b"]", list[kind])
    except ValueError:
        found = []
        for line in lines:
            with contextlib.suppress(ValueError):
                found.append(parse_json(line, kind))
        return found


def _expanded(file: BinaryIO, path: Path) -> Iterator[bytes]:
    """Yield the content of a file compressed by xz."""
    left = _most_expanded(file, _XZ_RATIO)
    decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_XZ_MEMORY_BYTES)
    while not decoder.eof:
        block = file.read(_BLOCK_BYTES) if decoder.needs_input else b""
        if decoder.needs_input and not block:
            raise _damaged(path, "it was cut short")
        try:
            data = decoder.decompress(block, _BLOCK_BYTES)
        except (lzma.LZMAError, EOFError) as error:
            raise _damaged(path, f"it is no xz file or is damaged: {error}") from error
        left -= len(data)
        if left < 0:
            raise _damaged(path, "it expands to far more than records do")
        yield data
    if decoder.unused_data or file.read(1):
        raise _damaged(path, "other data follow its end")


def _damaged(path: Path, reason: str) -> OSError:
    return OSError(errno.EIO, reason, str(path))


def _most_expanded(file: BinaryIO, ratio: int) -> int:
    """Return how many bytes a compressed file may expand to."""
    return max(MOST_EXPANDED_BYTES, ratio * os.fstat(file.fileno()).st_size)


@contextlib.contextmanager
def open_npz(path: Path) -> Iterator["np.lib.npyio.NpzFile"]:
    """Open an .npz file for reading its arrays by name, as `numpy.load` does.

    If the file is damaged, needs pickle, or would expand far more than arrays of trained networks
    do, this or reading an array raises ValueError, OSError, MemoryError or an error of zipfile.
    """
    import numpy as np

    with open_file(path) as file:
        most = _most_expanded(file, _NPZ_RATIO)
        with zipfile.ZipFile(file) as archive:  # of no member are more bytes read than it states
            if sum(each.file_size for each in archive.infolist()) > most:
                raise ValueError(f"its arrays have more than {most:,} bytes")
        file.seek(0)
        with np.load(file, allow_pickle=False) as stored:
            yield stored
