"""Reading of JSON lines, plain or compressed: the records of a fleet.

A last line without a newline was cut short by a crash or is being written.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import msgspec

from recall.errors import BadValueError
from recall.files.fleet_layout import records_file
from recall.files.reading import XZ, parse_json, read_lines

_Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Record = dict[str, bool | _Integer | float | str | list[float | None] | None]
"""A record of training; numbers that are not finite are None."""


def find_records(folder: Path, name: str) -> Path:
    """Return the file of a fleet's records, which an archive holds compressed."""
    plain = folder / records_file(name)
    compressed = folder / f"{records_file(name)}{XZ}"
    return compressed if compressed.exists() and not plain.exists() else plain


def complete_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, without a last one that is cut short."""
    return (line for line in read_lines(path) if line.endswith(b"\n"))


def decoded(lines: list[bytes], kind: Any) -> list[Any]:
    """Return the records in some lines, without those that are no `kind`."""
    try:  # all at once, which is faster than line by line
        return parse_json(b"[" + b",".join(lines) + b"]", list[kind])
    except ValueError:
        found = []
        for line in lines:
            with suppress(ValueError):
                found.append(parse_json(line, kind))
        return found


def read_records(path: Path) -> list[dict[str, Any]]:
    """Return the records of all complete lines; raise BadValueError if one cannot be read."""
    records = []
    try:
        for number, line in enumerate(complete_lines(path), 1):
            try:
                records.append(parse_json(line, dict[str, Any]))
            except ValueError as error:
                raise BadValueError(f"line {number} of {path} cannot be read: {error}") from error
    except OSError as error:
        raise BadValueError(f"{path} cannot be read ({error.strerror})") from error
    return records
