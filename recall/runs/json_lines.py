"""Reading of JSON lines, plain or compressed.

Blocks of lines are parsed at once, which takes half as long as line by line.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from recall.files.compressed import SUFFIX, open_xz
from recall.files.fleet_layout import records_file

_BLOCK_BYTES = 1 << 16

Record = dict[str, Any]


def find_records(folder: Path, name: str) -> Path:
    """Return the file of a fleet's records, which an archive holds compressed."""
    plain = folder / records_file(name)
    compressed = folder / f"{records_file(name)}{SUFFIX}"
    return compressed if compressed.exists() and not plain.exists() else plain


def open_records(path: Path) -> BinaryIO:
    """Open a file of records; reading raises OSError if it is compressed and damaged."""
    return open_xz(path) if path.suffix == SUFFIX else path.open("rb")


def read_blocks(path: Path, finished: bool = False) -> Iterator[tuple[list[Record], int]]:
    """Yield the records of a file in blocks, with the number of unreadable lines in each block.

    A last line without a newline was cut short by a crash or is being written; it is skipped and
    not counted as unreadable. In the file of a `finished` fleet it is damage, and counted.
    """
    with open_records(path) as file:
        while lines := file.readlines(_BLOCK_BYTES):
            cut = not lines[-1].endswith(b"\n")
            if cut:
                lines.pop()
            records, broken = _parsed(lines)
            yield records, broken + int(cut and finished)


def read_run(path: Path, run: int) -> tuple[list[Record], int]:
    """Return the records of one run of a fleet, and the number of unreadable lines.

    Most lines of the other runs are skipped without parsing.
    """
    start, mine = b'{"run": ', b'{"run": %d,' % run
    with open_records(path) as file:
        lines = [line for line in file if line.startswith(mine) or not line.startswith(start)]
    if lines and not lines[-1].endswith(b"\n"):
        lines.pop()
    records, broken = _parsed(lines)
    return [record for record in records if record.get("run") == run], broken


def read_marked(path: Path, mark: bytes) -> tuple[list[Record], bool]:
    """Return the records of the lines that contain `mark`, and whether the last line is cut short.

    Other lines are not parsed.
    """
    lines, line = [], b"\n"
    with open_records(path) as file:
        for line in file:
            if mark in line and line.endswith(b"\n"):
                lines.append(line)
    return _parsed(lines)[0], not line.endswith(b"\n")


def as_number(value: Any) -> float:
    """Return a value of a record as a number, NaN if it is none or too large for one."""
    try:
        return float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return math.nan


def _parsed(lines: list[bytes]) -> tuple[list[Record], int]:
    try:
        records = json.loads(b"[" + b",".join(lines) + b"]")
    except (ValueError, RecursionError):
        records = [_one(line) for line in lines]
    whole = [record for record in records if isinstance(record, dict)]
    return whole, len(lines) - len(whole)


def _one(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
