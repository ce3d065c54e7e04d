"""A preview of a study: its runs, fleets, transitions and memory, and how long it takes.

Times are estimated from the output of `recall bench` on the machine that will run the study.
"""

import datetime
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from recall.config.spec import FleetSpec
from recall.errors import BadValueError
from recall.files.fleet_layout import DESCRIPTION, status
from recall.files.reading import read_json
from recall.runs.wording import counted
from recall.studies.launch.place import Place
from recall.studies.plan import WHOLE, Fleet, Shard
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
_WAY_OUT = "give the output of `recall bench fleet --json` or `recall bench learner --json`"
_Positive = Annotated[float, msgspec.Meta(gt=0)]


class Speed(msgspec.Struct):
    """A row of `recall bench fleet` or of `recall bench learner`, which has `ms_per_update`."""

    method: str
    runs: Annotated[int, msgspec.Meta(ge=1)]
    tasks: int | None = None
    environments: int = 1
    ms_per_update: _Positive | None = None
    transitions_per_s: _Positive | None = None
    workers_alone_per_s: _Positive | None = None
    evaluation_share: float = 0.0

    def __post_init__(self) -> None:
        of_fleet = (self.transitions_per_s, self.workers_alone_per_s)
        if self.ms_per_update is None and None in of_fleet:
            raise ValueError("a row has no speed")


class _Bench(msgspec.Struct):
    rows: list[Speed]


class TimeEstimate(NamedTuple):
    """The estimated seconds of a fleet, and notes on what they leave out or assume."""

    seconds: float
    notes: list[str]


def read_speeds(files: Sequence[Path], folder: Path) -> list[Speed]:
    """Read the speeds in `files`, or in bench*.json in `folder` if no files are given."""
    for path in files:
        if not path.exists():
            raise BadValueError(f"the file {path} does not exist; {_HOW_TO_MEASURE}")
    paths = files or sorted(folder.glob("bench*.json"))
    return [row for path in paths for row in read_json(path, _WAY_OUT, kind=_Bench).rows]


def estimate_time(fleet: Fleet, speeds: Sequence[Speed]) -> TimeEstimate | None:
    """Estimate the time of training and evaluating; return None if no speeds are known."""
    spec, runs = fleet.spec, len(fleet.spec.runs)
    if whole := [row for row in speeds if row.transitions_per_s is not None]:
        row, notes = _nearest(whole, spec, lambda row: -row.transitions_per_s)
        wanted = spec.settings.schedule.environments
        if row.environments != wanted:
            environments = counted(row.environments, "environment")
            notes.append(f"measured with {environments} for each run instead of {wanted}")
        # Worst case: a smaller fleet takes as long per step as the measured one, and a larger fleet
        # collects no more transitions per second.
        seconds = fleet.transitions / (row.transitions_per_s * min(1.0, runs / row.runs))
        # Evaluations up to the measured share are included in the rate.
        more = max(0.0, evaluation_steps(spec) - row.evaluation_share * fleet.transitions)
        return TimeEstimate(seconds + more / row.workers_alone_per_s, notes)
    if not speeds:
        return None
    row, notes = _nearest(speeds, spec, lambda row: row.ms_per_update)
    notes.append(
        "time of updates alone; run `recall bench fleet` to include collecting and evaluating"
    )
    seconds = updates(spec) * row.ms_per_update / 1e3 * max(1.0, runs / row.runs)
    return TimeEstimate(seconds, notes)


def _nearest(
    rows: Sequence[Speed], spec: FleetSpec, slowness: Callable[[Any], float]
) -> tuple[Any, list[str]]:
    """Return the method's row with the nearest numbers of runs and tasks, and notes on it.

    If the method was not measured, the slowest one's rows stand in for it.
    """
    method, notes = spec.method.name, []
    if all(row.method != method for row in rows):
        method = max(rows, key=slowness).method
        notes = [f"{spec.method.name} was not measured: the speed of {method} is used for it"]
    runs, tasks = len(spec.runs), spec.tasks

    def distance(row: Speed) -> tuple[int, int]:
        return abs(row.runs - runs), abs((row.tasks or tasks) - tasks)

    return min((row for row in rows if row.method == method), key=distance), notes


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


def dry_run(
    study: Study,
    choices: Choices,
    folder: Path,
    place: Place,
    speeds: Sequence[Speed],
    shard: Shard = WHOLE,
) -> dict[str, Any]:
    """Return a preview of a study, with its fleets in the order in which they would train.

    A fleet's `state` is "finished", "begun" or "new", and `took_seconds` what it took so far.
    """
    before = known_fleets(folder)
    fleets: list[dict[str, Any]] = []
    notes: dict[str, None] = {}
    for fleet in shard.part(plan_study(study, choices, folder, place.room, shard.count)):
        expected = estimate_time(fleet, speeds)
        notes |= dict.fromkeys(expected.notes if expected else ())
        fleets.append(
            {
                "name": fleet.name,
                "variant": fleet.variant.title,
                "runs": [run.name for run in fleet.spec.runs],
                "tasks": fleet.spec.tasks,
                "steps_per_task": fleet.spec.steps_per_task,
                "transitions": fleet.transitions,
                "memory_bytes": fleet.memory_bytes,
                "seconds": expected.seconds if expected else None,
                "took_seconds": before.get(fleet.name, {}).get("seconds"),
                "state": _state(folder / fleet.name),
            }
        )
    return {
        "study": study.name,
        "question": study.question,
        "folder": str(folder),
        "place": place.title,
        "device_bytes": place.room.bytes_per_device,
        "places": place.room.places,
        "runs": sum(len(fleet["runs"]) for fleet in fleets),
        "transitions": sum(fleet["transitions"] for fleet in fleets),
        "seconds": _seconds(_left(fleets), place.room.places),
        "notes": list(notes),
        "fleets": fleets,
    }


def _state(folder: Path) -> str:
    if status(folder).is_over:
        return "finished"
    return "begun" if (folder / DESCRIPTION).exists() else "new"


def _left(fleets: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [fleet for fleet in fleets if fleet["state"] != "finished"]


def _seconds(left: Sequence[Mapping[str, Any]], places: int) -> float | None:
    """Return the seconds until all fleets finish, with all places in use; None if unknown."""
    if any(fleet["seconds"] is None for fleet in left):
        return None
    busy = [0.0] * places
    for seconds in sorted((fleet["seconds"] for fleet in left), reverse=True):
        busy[busy.index(min(busy))] += seconds
    return max(busy)


def rows(preview: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row of text for each fleet of a preview."""
    return [
        {
            "fleet": fleet["name"],
            "runs": len(fleet["runs"]),
            "tasks": fleet["tasks"],
            "steps_per_task": f"{fleet['steps_per_task']:,}",
            "transitions": f"{fleet['transitions']:,}",
            "memory": gibibytes(fleet["memory_bytes"]),
            "time": _time(fleet),
            "state": fleet["state"],
        }
        for fleet in preview["fleets"]
    ]


def _time(fleet: Mapping[str, Any]) -> str:
    """Return the estimated time of a fleet, or the time that it took, as text."""
    if fleet["state"] == "finished" and fleet["took_seconds"] is not None:
        return f"took {_duration(fleet['took_seconds'])}"
    return "?" if fleet["seconds"] is None else _duration(fleet["seconds"])


def summary(preview: Mapping[str, Any]) -> list[str]:
    """Return lines that summarise a preview."""
    left, seconds = _left(preview["fleets"]), preview["seconds"]
    if not left:
        return [preview["question"], "everything is finished: nothing is left to run"]
    runs = sum(len(fleet["runs"]) for fleet in left)
    transitions = sum(fleet["transitions"] for fleet in left)
    return [
        preview["question"],
        f"{counted(runs, 'run')} in {counted(len(left), 'fleet')}, {transitions:,} transitions",
        f"on {preview['place']}, {gibibytes(preview['device_bytes'])} for each device",
        _HOW_TO_MEASURE if seconds is None else f"about {_duration(seconds)} in all",
        *preview["notes"],
    ]


def _duration(seconds: float) -> str:
    """Return seconds as text in hours, minutes and seconds."""
    return str(datetime.timedelta(seconds=round(seconds)))
