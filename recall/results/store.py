"""The files of a fleet: one folder with append-only records in one versioned schema.

    run.json            what ran: settings, method, runs, versions, machine
    evaluations.jsonl   one line per run, evaluation, task and mode
    training.jsonl      one line per run and record step; choices of heads; health warnings
    outcome.json        written at the end: finished, failed runs

Tables, figures and resuming read these files only. Records hold no times of day, so a fleet that
was interrupted and resumed leaves the same bytes as one that was never interrupted.
"""

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from recall.errors import BadValueError, RecallError
from recall.results.evaluations import EvaluationRecord

SCHEMA = 1
RECORDS = ("evaluations", "training")


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file atomically."""
    temporary = path.with_suffix(".tmp")
    with temporary.open("w") as file:
        json.dump(_plain(content), file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _plain(value: Any) -> Any:
    """Replace NaN and infinity, which JSON lacks, by None."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


class Store:
    """The records of a fleet, open for writing."""

    def __init__(self, folder: Path):
        self.folder = folder
        # Unbuffered, so that no pending data is written after a failure.
        self._files = {name: (folder / f"{name}.jsonl").open("ab", buffering=0) for name in RECORDS}

    @classmethod
    def create(cls, folder: Path, description: dict[str, Any]) -> "Store":
        """Create the folder of a fleet and write its run.json."""
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / "run.json", {"schema": SCHEMA, **description})
        return cls(folder)

    def append(self, name: str, records: Iterable[Mapping[str, Any]]) -> None:
        """Append records to a file, one line each."""
        lines = b"".join(json.dumps(_plain(record)).encode() + b"\n" for record in records)
        file = self._files[name]
        while lines:  # an unbuffered write may be partial
            lines = lines[file.write(lines) :]

    def sync(self) -> dict[str, int]:
        """Flush all records to disk; return the length of each file, to cut it back on resuming."""
        for file in self._files.values():
            os.fsync(file.fileno())
        return {name: os.fstat(file.fileno()).st_size for name, file in self._files.items()}

    def check(self, lengths: dict[str, int]) -> None:
        """Raise an error if a file of records is shorter than its given length."""
        for name, length in lengths.items():
            size = os.fstat(self._files[name].fileno()).st_size
            if size < length:
                raise RecallError(f"{name}.jsonl has {size} of {length} bytes: the rest is lost")

    def cut(self, lengths: dict[str, int]) -> None:
        """Cut the files back to the given lengths, which `sync` returned."""
        self.check(lengths)
        for name, length in lengths.items():
            self._files[name].truncate(length)

    def finish(self, outcome: dict[str, Any]) -> None:
        """Close the files and write outcome.json."""
        self.close()
        write_json(self.folder / "outcome.json", {"schema": SCHEMA, **outcome})

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()


@dataclass(frozen=True)
class Results:
    """The records of a fleet."""

    folder: Path
    description: dict[str, Any]
    evaluations: list[EvaluationRecord]
    training: list[dict[str, Any]]
    outcome: dict[str, Any] | None

    @property
    def runs(self) -> list[dict[str, Any]]:
        """Return the name, seed, sequence and tasks of every run."""
        return self.description["runs"]


def read(folder: Path) -> Results:
    """Read the results in a folder."""
    description = read_description(folder)
    outcome = folder / "outcome.json"
    return Results(
        folder,
        description,
        cast(list[EvaluationRecord], _lines(folder / "evaluations.jsonl")),
        _lines(folder / "training.jsonl"),
        json.loads(outcome.read_text()) if outcome.exists() else None,
    )


def read_description(folder: Path) -> dict[str, Any]:
    """Read run.json of a folder."""
    path = folder / "run.json"
    if not path.exists():
        raise BadValueError(f"{folder} holds no results: there is no run.json in it")
    description = json.loads(path.read_text())
    if description.get("schema") != SCHEMA:
        raise BadValueError(
            f"{path} has schema {description.get('schema')!r}; this version reads {SCHEMA}"
        )
    return description


def _lines(path: Path) -> list[dict[str, Any]]:
    """Read all complete lines, without a last line that was cut short by a crash."""
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    return [json.loads(line) for line in whole.splitlines()]
