"""Lines of JSON, many at a time: one parse of a block costs half of a parse for each line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_BLOCK_BYTES = 1 << 16

Record = dict[str, Any]


def read_blocks(path: Path) -> Iterator[tuple[list[Record], int]]:
    """The records of a file in blocks, and how many lines of each block could not be read.

    A last line without an end was cut short by a crash or is being written: no record, no fault.
    """
    with path.open("rb") as file:
        while lines := file.readlines(_BLOCK_BYTES):
            if not lines[-1].endswith(b"\n"):
                lines.pop()
            yield _parsed(lines)


def read_run(path: Path, run: int) -> tuple[list[Record], int]:
    """The records of one run of a fleet, and how many lines could not be read.

    Most lines of the other runs are skipped unread.
    """
    start, mine = b'{"run": ', b'{"run": %d,' % run
    with path.open("rb") as file:
        lines = [line for line in file if line.startswith(mine) or not line.startswith(start)]
    if lines and not lines[-1].endswith(b"\n"):
        lines.pop()
    records, broken = _parsed(lines)
    return [record for record in records if record.get("run") == run], broken


def read_marked(path: Path, mark: bytes) -> list[Record]:
    """Return the records of the lines that contain `mark`; other lines are not parsed."""
    with path.open("rb") as file:
        lines = [line for line in file if mark in line and line.endswith(b"\n")]
    return _parsed(lines)[0]


def _parsed(lines: list[bytes]) -> tuple[list[Record], int]:
    try:
        records = json.loads(b"[" + b",".join(lines) + b"]")
    except ValueError:
        records = [_one(line) for line in lines]
    whole = [record for record in records if isinstance(record, dict)]
    return whole, len(lines) - len(whole)


def _one(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
