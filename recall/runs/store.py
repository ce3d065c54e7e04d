"""The records of a fleet: append-only files with one JSON object on each line.

Records hold no times of day, so a fleet that was interrupted and resumed leaves the same bytes as
one that was never interrupted.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import msgspec

from recall.errors import BadValueError
from recall.files.append_log import AppendLog
from recall.files.atomic import plain, write_json
from recall.files.fleet_layout import (
    DESCRIPTION,
    OUTCOME,
    RECORDS,
    Outcome,
    check_written,
    find_records,
    read_outcome,
    records_file,
)
from recall.files.reading import SCHEMA, complete_lines, parse_json
from recall.files.stamps import Stamp, Stamps, check_all
from recall.runs.description import digest_of, read_description
from recall.runs.evaluations import EvaluationRecord


class Store:
    """The records of a fleet, open for writing."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._logs = {name: AppendLog(folder / records_file(name)) for name in RECORDS}
        for log in self._logs.values():
            log.open()

    @classmethod
    def create(cls, folder: Path, description: dict[str, Any]) -> "Store":
        """Create the folder of a fleet and write its run.json."""
        folder.mkdir(parents=True, exist_ok=True)
        digest = {"digest": digest_of(description)}
        write_json(folder / DESCRIPTION, {"schema": SCHEMA, **description, **digest})
        return cls(folder)

    def append(self, name: str, records: Iterable[Mapping[str, Any]]) -> None:
        """Append records to a file, one line each, with null for NaN and infinity."""
        lines = (json.dumps(plain(record)).encode() + b"\n" for record in records)
        self._logs[name].append(b"".join(lines))

    def sync(self) -> dict[str, Stamp]:
        """Flush all records to disk; return the stamp of each file, to cut it back on resuming."""
        return {name: log.sync() for name, log in self._logs.items()}

    def cut(self, stamps: Stamps) -> None:
        """Cut the files back to stamps that `sync` returned, and to nothing without a stamp."""
        for name, log in self._logs.items():
            log.cut(stamps.get(name, Stamp()))

    def finish(self, failed: Mapping[str, int], policies: Stamps | None = None) -> None:
        """Flush and close the files, check that they are whole, then write outcome.json.

        `failed` are the runs that failed, with their steps. `policies` are stamps by path.
        """
        stamps = {records_file(name): each for name, each in self.sync().items()}
        stamps |= policies or {}
        self.close()
        runs = read_description(self.folder)["runs"]  # files may have been removed during training
        check_all(self.folder, stamps)
        finished = len(failed) < len(runs)
        outcome = Outcome(finished=finished, failed=dict(failed), stamps={**stamps})
        write_json(self.folder / OUTCOME, msgspec.to_builtins(outcome))

    def close(self) -> None:
        """Close the files."""
        for log in self._logs.values():
            log.close()


@dataclass(frozen=True)
class Records:
    """The records of a fleet."""

    folder: Path
    description: dict[str, Any]
    evaluations: list[EvaluationRecord]
    training: list[dict[str, Any]]
    outcome: Outcome | None

    @property
    def runs(self) -> list[dict[str, Any]]:
        """Return the name, seed, sequence and tasks of every run."""
        return self.description["runs"]


def read(folder: str | Path) -> Records:
    """Read the records in a folder."""
    folder = Path(folder)
    description = read_description(folder)
    check_written(folder)
    evaluations, training = (_read_records(find_records(folder, name)) for name in RECORDS)
    ended = read_outcome(folder)
    return Records(folder, description, cast(list[EvaluationRecord], evaluations), training, ended)


def _read_records(path: Path) -> list[dict[str, Any]]:
    """Return the records of all complete lines; raise BadValueError if one cannot be read."""
    records: list[dict[str, Any]] = []
    try:
        for line in complete_lines(path) if path.exists() else ():
            records.append(parse_json(line, dict[str, Any]))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else f"line {len(records) + 1}: {error}"
        raise BadValueError(f"{path} cannot be read ({why})") from error
    return records
