"""The files of a fleet: one folder with append-only records in one versioned schema.

    run.json            what ran: settings, method, runs, versions, machine
    evaluations.jsonl   one line per run, evaluation, task and mode
    training.jsonl      one line per run and record step; choices of heads; health warnings
    outcome.json        written at the end: finished, failed runs

Tables, figures and resuming read these files only. Records hold no times of day, so a fleet that
was interrupted and resumed leaves the same bytes as one that was never interrupted.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recall.errors import BadValueError
from recall.files.append_log import AppendLog
from recall.files.atomic import write_json
from recall.files.stamps import Stamp, Stamps

SCHEMA = 1
RECORDS = ("evaluations", "training")


class Store:
    """The records of a fleet, open for writing."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._logs = {name: AppendLog(folder / f"{name}.jsonl") for name in RECORDS}
        for log in self._logs.values():
            log.open()

    @classmethod
    def create(cls, folder: Path, description: dict[str, Any]) -> "Store":
        """Create the folder of a fleet and write its run.json."""
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / "run.json", {"schema": SCHEMA, **description})
        return cls(folder)

    def append(self, name: str, records: Iterable[dict[str, Any]]) -> None:
        """Append records to a file, one line each."""
        self._logs[name].append_lines(records)

    def sync(self) -> dict[str, Stamp]:
        """Flush all records to disk; return the stamp of each file, to cut it back on resuming."""
        return {name: log.sync() for name, log in self._logs.items()}

    def check(self, stamps: Stamps) -> None:
        """Raise an error if records that `stamps` cover are lost or damaged."""
        for name, stamp in stamps.items():
            self._logs[name].check(stamp)

    def cut(self, stamps: Stamps) -> None:
        """Cut the files back to stamps that `sync` returned, and to nothing without a stamp."""
        for name, log in self._logs.items():
            log.cut(stamps.get(name, Stamp()))

    def finish(self, outcome: dict[str, Any]) -> None:
        """Close the files and write outcome.json."""
        self.close()
        write_json(self.folder / "outcome.json", {"schema": SCHEMA, **outcome})

    def close(self) -> None:
        """Close the files."""
        for log in self._logs.values():
            log.close()


@dataclass(frozen=True)
class Results:
    """The records of a fleet."""

    folder: Path
    description: dict[str, Any]
    evaluations: list[dict[str, Any]]
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
        _lines(folder / "evaluations.jsonl"),
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
