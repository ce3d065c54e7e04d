"""The files of a fleet: one folder with append-only records in one versioned schema.

    run.json            what ran: settings, method, runs, versions, machine
    evaluations.jsonl   one line per run, evaluation, task and mode
    training.jsonl      one line per run and record step; choices of heads; health warnings
    outcome.json        written at the end: finished, failed runs

In an archive (recall.runs.archive) the records are compressed, and archive.json says what was
left out.

Tables, figures and resuming read these files only. Records hold no times of day, so a fleet that
was interrupted and resumed leaves the same bytes as one that was never interrupted.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from recall.errors import BadValueError
from recall.files.append_log import AppendLog
from recall.files.atomic import write_json
from recall.files.fleet_layout import DESCRIPTION, OUTCOME, RECORDS, records_file
from recall.files.reading import parse_json, read_json
from recall.files.stamps import Stamp, Stamps
from recall.runs.archive_note import ArchiveNote, read_note
from recall.runs.description import SCHEMA, digest_of, read_description
from recall.runs.evaluations import EvaluationRecord
from recall.runs.json_lines import find_records, open_records
from recall.runs.way_out import for_outcome


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
        """Flush and close the files, then write outcome.json."""
        self.sync()
        self.close()
        write_json(self.folder / OUTCOME, {"schema": SCHEMA, **outcome})

    def close(self) -> None:
        """Close the files."""
        for log in self._logs.values():
            log.close()


@dataclass(frozen=True)
class Results:
    """The records of a fleet."""

    folder: Path
    description: dict[str, Any]
    evaluations: list[EvaluationRecord]
    training: list[dict[str, Any]]
    outcome: dict[str, Any] | None
    archived: ArchiveNote | None = None
    """What an archive left out; None for the folder that a fleet was trained in."""

    @property
    def runs(self) -> list[dict[str, Any]]:
        """Return the name, seed, sequence and tasks of every run."""
        return self.description["runs"]


def read(folder: str | Path) -> Results:
    """Read the results in a folder."""
    folder = Path(folder)
    description = read_description(folder)
    return Results(
        folder,
        description,
        cast(list[EvaluationRecord], _lines(folder, "evaluations")),
        _lines(folder, "training"),
        read_outcome(folder),
        read_note(folder),
    )


def read_outcome(folder: Path) -> dict[str, Any] | None:
    """Read outcome.json of a folder; return None before the end of training."""
    path = folder / OUTCOME
    if not path.exists():
        return None
    try:
        content = read_json(path)
    except BadValueError:
        content = read_json(path, for_outcome(folder))  # raises the error again, with a way out
    failed = content.get("failed") if isinstance(content, dict) else None
    if not (isinstance(failed, dict) and all(isinstance(step, int) for step in failed.values())):
        raise BadValueError(
            f"{path} does not have the expected content, so it was damaged or edited: "
            f"{for_outcome(folder)}"
        )
    return content


def _lines(folder: Path, name: str) -> list[dict[str, Any]]:
    """Read all complete lines, without a last line that was cut short by a crash."""
    path = find_records(folder, name)
    if not path.exists():
        return []
    try:
        with open_records(path) as file:
            content = file.read()
    except OSError as error:
        raise BadValueError(f"{path} cannot be read ({error.strerror})") from error
    whole = content[: content.rfind(b"\n") + 1]
    records = []
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            records.append(_record(line))
        except ValueError as error:
            raise BadValueError(f"line {number} of {path} cannot be read: {error}") from error
    return records


def _record(line: bytes) -> dict[str, Any]:
    record = parse_json(line)
    if not isinstance(record, dict):
        raise ValueError("it is not a record")
    return record
