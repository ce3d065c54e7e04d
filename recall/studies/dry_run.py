"""A preview of a study: its runs, fleets, transitions and memory, and how long it takes.

Times are estimated from the output of `recall bench` on the machine that will run the study.
"""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recall.config.spec import FleetSpec
from recall.errors import BadValueError
from recall.files.fleet_layout import DESCRIPTION, status
from recall.files.reading import read_json
from recall.runs.wording import counted
from recall.studies.launch.place import Place
from recall.studies.plan import Fleet
from recall.studies.runner import plan_study
from recall.studies.selection import Choices
from recall.studies.study import Study
from recall.studies.study_folder import known_fleets
from recall.training.memory import gibibytes
from recall.worlds.registry import horizon_steps

_HOW_TO_MEASURE = (
    "no speeds are known: measure them with `recall bench fleet --json > bench-fleet.json` and "
    "`recall bench learner --json > bench-learner.json`, and give the files with --bench"
)
_FLEET_SPEEDS = ["transitions_per_s", "workers_alone_per_s"]

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Speeds:
    """Rows of `recall bench learner` and `recall bench fleet`."""

    learner: Rows = ()
    fleet: Rows = ()


@dataclass(frozen=True)
class TimeEstimate:
    """The estimated seconds of a fleet, and notes on what they leave out or assume."""

    seconds: float
    notes: tuple[str, ...] = ()


def read_speeds(files: Sequence[Path], folder: Path) -> Speeds:
    """Read the speeds in `files`, or in bench*.json in `folder` if no files are given."""
    rows = [row for path in files or sorted(folder.glob("bench*.json")) for row in _rows(path)]
    return Speeds(
        [row for row in rows if "ms_per_update" in row],
        [row for row in rows if "ms_per_update" not in row],
    )


def _rows(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        raise BadValueError(f"the file {path} does not exist; {_HOW_TO_MEASURE}")
    content = read_json(path)
    rows = content.get("rows") if isinstance(content, dict) else None
    if not isinstance(rows, list) or not all(map(_is_speed, rows)):
        raise BadValueError(
            f"{path} is not what `recall bench learner --json` or `recall bench fleet --json` "
            "prints"
        )
    return rows


def _is_speed(row: Any) -> bool:
    if not isinstance(row, dict):
        return False
    names = ["ms_per_update"] if "ms_per_update" in row else _FLEET_SPEEDS
    numbers = [row.get(name) for name in ("runs", *names)]
    return (
        isinstance(row.get("method"), str)
        and all(isinstance(row.get(name, 1), int) for name in ("tasks", "environments"))
        and all(isinstance(number, int | float) and number > 0 for number in numbers)
    )


def estimate_time(fleet: Fleet, speeds: Speeds) -> TimeEstimate | None:
    """Estimate the time of training and evaluating; return None if no speeds are known."""
    spec, runs = fleet.spec, len(fleet.spec.runs)
    if speeds.fleet:
        row, notes = _nearest(speeds.fleet, spec, min, "transitions_per_s")
        measured, wanted = row.get("environments", 1), spec.settings.schedule.environments
        if measured != wanted:
            notes.append(
                f"measured with {counted(measured, 'environment')} for each run instead of {wanted}"
            )
        # Worst case: a smaller fleet takes as long per step as the measured one, and a larger fleet
        # collects no more transitions per second.
        seconds = fleet.transitions / (row["transitions_per_s"] * min(1.0, runs / row["runs"]))
        # Evaluations up to the measured share are included in the rate.
        included = row.get("evaluation_share", 0.0) * fleet.transitions
        seconds += max(0.0, evaluation_steps(spec) - included) / row["workers_alone_per_s"]
    elif speeds.learner:
        row, notes = _nearest(speeds.learner, spec, max, "ms_per_update")
        seconds = updates(spec) * row["ms_per_update"] / 1e3 * max(1.0, runs / row["runs"])
        notes.append(
            "time of updates alone; run `recall bench fleet` to include collecting and evaluating"
        )
    else:
        return None
    return TimeEstimate(seconds, tuple(notes))


def _nearest(
    rows: Rows, spec: FleetSpec, slowest: Any, speed: str
) -> tuple[Mapping[str, Any], list[str]]:
    """Return the method's row with the nearest numbers of runs and tasks, and notes on it.

    If the method was not measured, the slowest one's rows stand in for it.
    """
    method, notes = spec.method.name, []
    if all(row["method"] != method for row in rows):
        method = slowest(rows, key=lambda row: row[speed])["method"]
        notes = [f"{spec.method.name} was not measured: the speed of {method} is used for it"]
    runs, tasks = len(spec.runs), spec.tasks
    mine = [row for row in rows if row["method"] == method]
    nearest = min(
        mine, key=lambda row: (abs(row["runs"] - runs), abs(row.get("tasks", tasks) - tasks))
    )
    return nearest, notes


def updates(spec: FleetSpec) -> int:
    """Return the number of updates of each run."""
    schedule, method = spec.settings.schedule, spec.method
    bursts = (spec.steps_per_task - schedule.update_after) // schedule.chunk_steps + 1
    training = spec.tasks * max(0, bursts) * spec.settings.learner.updates_per_burst
    return training + (spec.tasks - 1) * method.retraining_updates


def evaluation_steps(spec: FleetSpec) -> int:
    """Return the number of steps in all evaluations of all runs, each of every task."""
    schedule, world = spec.settings.schedule, spec.settings.world
    evaluations = spec.tasks * -(-spec.steps_per_task // schedule.evaluate_every)
    episodes = schedule.evaluation_episodes + schedule.deterministic_episodes
    steps = sum(horizon_steps(task, world) for run in spec.runs for task in run.tasks)
    return evaluations * episodes * steps


@dataclass(frozen=True)
class _Preview:
    """A fleet, its state ("finished", "begun" or "new") and its time."""

    fleet: Fleet
    state: str
    expected: TimeEstimate | None
    took: float | None  # seconds that it has already trained

    def plain(self) -> dict[str, Any]:
        """Return the preview as plain data."""
        spec = self.fleet.spec
        return {
            "name": self.fleet.name,
            "variant": self.fleet.variant.title,
            "runs": [run.name for run in spec.runs],
            "tasks": spec.tasks,
            "steps_per_task": spec.steps_per_task,
            "transitions": self.fleet.transitions,
            "memory_bytes": self.fleet.memory_bytes,
            "seconds": self.expected.seconds if self.expected else None,
            "state": self.state,
        }


class DryRun:
    """The fleets of a study, in the order in which they would train."""

    def __init__(self, study: Study, choices: Choices, folder: Path, place: Place, speeds: Speeds):
        """Plan the study without starting anything."""
        self.study, self.folder, self.place = study, folder, place
        took = known_fleets(folder)
        self.previews = [
            _Preview(
                fleet,
                _state(folder / fleet.name),
                estimate_time(fleet, speeds),
                took.get(fleet.name, {}).get("seconds"),
            )
            for fleet in plan_study(study, choices, folder, place.room)
        ]
        self.left = [each for each in self.previews if each.state != "finished"]

    def seconds(self) -> float | None:
        """Return the seconds until all fleets finish, with all places in use; None if unknown."""
        if any(each.expected is None for each in self.left):
            return None
        places = [0.0] * self.place.room.places
        times = (each.expected.seconds for each in self.left if each.expected)
        for time in sorted(times, reverse=True):
            places[places.index(min(places))] += time
        return max(places)

    def notes(self) -> list[str]:
        """Return notes on what time estimates leave out or assume."""
        notes = (note for each in self.previews if each.expected for note in each.expected.notes)
        return list(dict.fromkeys(notes))

    def rows(self) -> list[dict[str, Any]]:
        """Return a row of text for each fleet."""
        return [
            {
                "fleet": each.fleet.name,
                "runs": len(each.fleet.spec.runs),
                "tasks": each.fleet.spec.tasks,
                "steps_per_task": f"{each.fleet.spec.steps_per_task:,}",
                "transitions": f"{each.fleet.transitions:,}",
                "memory": gibibytes(each.fleet.memory_bytes),
                "time": _time(each),
                "state": each.state,
            }
            for each in self.previews
        ]

    def summary(self) -> list[str]:
        """Return lines that summarise the study."""
        if not self.left:
            return [self.study.question, "everything is finished: nothing is left to run"]
        runs = sum(len(each.fleet.spec.runs) for each in self.left)
        transitions = sum(each.fleet.transitions for each in self.left)
        seconds = self.seconds()
        return [
            self.study.question,
            f"{counted(runs, 'run')} in {counted(len(self.left), 'fleet')}, "
            f"{transitions:,} transitions",
            f"on {self.place.title}, {gibibytes(self.place.room.bytes_per_device)} for each device",
            _HOW_TO_MEASURE if seconds is None else f"about {_duration(seconds)} in all",
            *self.notes(),
        ]

    def plain(self) -> dict[str, Any]:
        """Return the preview as plain data."""
        fleets = [each.plain() for each in self.previews]
        return {
            "study": self.study.name,
            "question": self.study.question,
            "folder": str(self.folder),
            "device_bytes": self.place.room.bytes_per_device,
            "places": self.place.room.places,
            "runs": sum(len(fleet["runs"]) for fleet in fleets),
            "transitions": sum(fleet["transitions"] for fleet in fleets),
            "seconds": self.seconds(),
            "notes": self.notes(),
            "fleets": fleets,
        }


def _state(folder: Path) -> str:
    if status(folder).is_over:
        return "finished"
    return "begun" if (folder / DESCRIPTION).exists() else "new"


def _time(preview: _Preview) -> str:
    """Return the estimated time of a fleet, or the time that it took, as text."""
    if preview.state == "finished" and preview.took is not None:
        return f"took {_duration(preview.took)}"
    return _duration(preview.expected.seconds) if preview.expected else "?"


def _duration(seconds: float) -> str:
    """Return seconds as text in hours, minutes and seconds."""
    return str(datetime.timedelta(seconds=round(seconds)))
