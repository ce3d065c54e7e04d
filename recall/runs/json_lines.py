"""Reading of JSON lines, plain or compressed: the records of a fleet.

Blocks of lines are decoded at once, which is faster than line by line. A last line without a
newline was cut short by a crash or is being written; it is not read.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from recall.errors import BadValueError
from recall.files.fleet_layout import records_file
from recall.files.reading import XZ, parse_json, read_lines

T = TypeVar("T")
_Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Record = dict[str, bool | _Integer | float | str | list[float | None] | None]
"""A record of training; numbers that are not finite are None."""
Line = tuple[bytes, dict[str, Any]]
_BLOCK_LINES = 512


def find_records(folder: Path, name: str) -> Path:
    """Return the file of a fleet's records, which an archive holds compressed."""
    plain = folder / records_file(name)
    compressed = folder / f"{records_file(name)}{XZ}"
    return compressed if compressed.exists() and not plain.exists() else plain


def read_blocks(lines: Iterable[bytes], kind: type[T]) -> Iterator[tuple[list[T], int]]:
    """Yield the records of some lines in blocks, with the number of lines that are no `kind`.

    The last line counts as one of these if it is cut short.
    """
    lines = iter(lines)
    while block := list(islice(lines, _BLOCK_LINES)):
        cut = not block[-1].endswith(b"\n")
        records = decoded(block[:-1] if cut else block, kind)
        yield records, len(block) - len(records)


def decoded(lines: list[bytes], kind: Any) -> list[Any]:
    """Return the records in some lines, without those that are no `kind`."""
    try:
        return parse_json(b"[" + b",".join(lines) + b"]", list[kind])
    except ValueError:
        return [record for line in lines for record in _one(line, kind)]


def _one(line: bytes, kind: Any) -> list[Any]:
    try:
        return [parse_json(line, kind)]
    except ValueError:
        return []


def complete_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, without a last one that is cut short."""
    return (line for line in read_lines(path) if line.endswith(b"\n"))


def checked_lines(path: Path, whole: bool = False) -> Iterator[Line]:
    """Yield every complete line with its record; raise BadValueError if one cannot be read.

    A last line that is cut short is skipped, but an error if the file should be `whole`.
    """
    try:
        for number, line in enumerate(read_lines(path), 1):
            try:
                if line.endswith(b"\n"):
                    yield line, parse_json(line, dict[str, Any])
                elif whole:
                    raise ValueError("it was cut short")
            except ValueError as error:
                raise BadValueError(f"line {number} of {path} cannot be read: {error}") from error
    except OSError as error:
        raise BadValueError(f"{path} cannot be read ({error.strerror})") from error
