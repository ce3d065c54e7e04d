"""Time estimates of a study, from `recall bench` results of the machine that will run it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recall.config.spec import FleetSpec
from recall.errors import BadValueError
from recall.files.reading import read_json
from recall.runs.wording import counted
from recall.studies.plan import Fleet
from recall.worlds.registry import horizon_steps

HOW_TO_MEASURE = (
    "no speeds are known: measure them with `recall bench fleet --json > bench-fleet.json` and "
    "`recall bench learner --json > bench-learner.json`, and give the files with --bench"
)
_FOUND = "bench*.json"
_FLEET_SPEEDS = ["transitions_per_s", "workers_alone_per_s"]


@dataclass(frozen=True)
class Speeds:
    """Rows of `recall bench learner` and `recall bench fleet`."""

    learner: tuple[dict[str, Any], ...] = ()
    fleet: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class TimeEstimate:
    """The estimated seconds of a fleet, and notes on what they leave out or assume."""

    seconds: float
    notes: tuple[str, ...] = ()


def read_speeds(files: Sequence[Path], folder: Path) -> Speeds:
    """Read the speeds in `files`, or in bench*.json in `folder` if no files are given."""
    learner: list[dict[str, Any]] = []
    fleet: list[dict[str, Any]] = []
    for path in files or sorted(folder.glob(_FOUND)):
        for row in _rows(path):
            (learner if "ms_per_update" in row else fleet).append(row)
    return Speeds(tuple(learner), tuple(fleet))


def _rows(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        raise BadValueError(f"the file {path} does not exist; {HOW_TO_MEASURE}")
    try:
        rows = list(read_json(path)["rows"])
        if not all(map(_is_speed, rows)):
            raise KeyError("a method, a number of runs or a speed")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadValueError(
            f"{path} is not what `recall bench learner --json` or `recall bench fleet --json` "
            f"prints ({type(error).__name__}: {error})"
        ) from error
    return rows


def _is_speed(row: dict[str, Any]) -> bool:
    names = ["ms_per_update"] if "ms_per_update" in row else _FLEET_SPEEDS
    numbers = [row.get(name) for name in ("runs", *names)]
    return (
        isinstance(row.get("method"), str)
        and isinstance(row.get("environments", 1), int)
        and all(isinstance(number, int | float) and number > 0 for number in numbers)
    )


def estimate_time(fleet: Fleet, speeds: Speeds) -> TimeEstimate | None:
    """Estimate the time of training and evaluating; return None if no speeds are known."""
    spec, runs = fleet.spec, len(fleet.spec.runs)
    name = spec.method.name
    notes: list[str] = []
    if speeds.fleet:
        row = _nearest(speeds.fleet, name, spec, lambda row: -row["transitions_per_s"], notes)
        rate = row["transitions_per_s"]
        measured, wanted = row.get("environments", 1), spec.settings.schedule.environments
        if measured != wanted:
            notes.append(
                f"measured with {counted(measured, 'environment')} for each run instead of {wanted}"
            )
        # Worst case: a smaller fleet takes as long per step as the measured one, and a larger fleet
        # collects no more transitions per second.
        seconds = fleet.transitions / (rate * min(1.0, runs / row["runs"]))
        # Evaluations up to the measured share are included in the rate.
        included = row.get("evaluation_share", 0.0) * fleet.transitions
        seconds += max(0.0, evaluation_steps(spec) - included) / row["workers_alone_per_s"]
    elif speeds.learner:
        row = _nearest(speeds.learner, name, spec, lambda row: row["ms_per_update"], notes)
        per_update = row["ms_per_update"] / 1e3 * max(1.0, runs / row["runs"])
        seconds = updates(spec) * per_update
        notes.append(
            "time of updates alone; run `recall bench fleet` to include collecting and evaluating"
        )
    else:
        return None
    return TimeEstimate(seconds, tuple(notes))


def _nearest(
    rows: Iterable[dict[str, Any]],
    method: str,
    spec: FleetSpec,
    slowness: Callable[[dict[str, Any]], float],
    notes: list[str],
) -> dict[str, Any]:
    """Return the method's row with the nearest numbers of runs and tasks.

    If the method was not measured, the slowest one's rows stand in for it.
    """
    rows = list(rows)
    mine = [row for row in rows if row["method"] == method]
    if not mine:
        stand_in = max(rows, key=slowness)["method"]
        mine = [row for row in rows if row["method"] == stand_in]
        notes.append(f"{method} was not measured: the speed of {stand_in} is used for it")
    runs, tasks = len(spec.runs), spec.tasks
    return min(
        mine, key=lambda row: (abs(row["runs"] - runs), abs(row.get("tasks", tasks) - tasks))
    )


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
