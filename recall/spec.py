"""What a fleet is: one method, sequences of one length, seeds, settings; to and from JSON."""

import dataclasses
import types
import typing
from collections.abc import Sequence as Many
from dataclasses import dataclass
from typing import Any

from recall.columns import Columns
from recall.errors import BadValueError
from recall.learn.build import Blueprint
from recall.methods import Method, method_class
from recall.settings import Settings
from recall.worlds.registry import Task, make_simulator, task_label
from recall.worlds.sequences import parse_sequence


@dataclass(frozen=True)
class RunSpec:
    """One run of a fleet."""

    name: str
    seed: int
    sequence: str
    tasks: tuple[Task, ...]


@dataclass(frozen=True)
class FleetSpec:
    """Runs of one method that train in lockstep: every seed on every sequence."""

    method: Method
    runs: tuple[RunSpec, ...]
    settings: Settings

    @property
    def tasks(self) -> int:
        """Length of the sequences."""
        return len(self.runs[0].tasks)

    @property
    def steps_per_task(self) -> int:
        """Steps of each run on each task."""
        return self.settings.schedule.steps_per_task

    def describe(self) -> dict[str, Any]:
        """As plain data: what run.json says of it."""
        return {
            "method": {"name": self.method.name, **dataclasses.asdict(self.method)},
            "runs": [
                {
                    "name": run.name,
                    "seed": run.seed,
                    "sequence": run.sequence,
                    "tasks": [task_label(task) for task in run.tasks],
                }
                for run in self.runs
            ],
            "settings": dataclasses.asdict(self.settings),
        }


def make_spec(
    method: str | Method,
    sequences: str | Many[str | Many[Task]],
    seeds: Many[int],
    settings: Settings,
) -> FleetSpec:
    """Check and complete: the fleet of every seed on every sequence."""
    if isinstance(method, str):
        method = method_class(method)()
    listed = [sequences] if isinstance(sequences, str) else list(sequences)
    parsed = [_tasks_of(sequence) for sequence in listed]
    lengths = {name: len(tasks) for name, tasks in parsed}
    if len(set(lengths.values())) != 1:
        raise BadValueError(f"a fleet's sequences must have one length; these have {lengths}")
    if not seeds or len(set(seeds)) != len(seeds):
        raise BadValueError(f"seeds {list(seeds)}: give at least one, each once")
    if min(seeds) < 0:
        raise BadValueError(f"seed {min(seeds)} is negative")
    runs = tuple(
        RunSpec(f"{method.name}-{name}-seed{seed}", seed, name, tasks)
        for name, tasks in parsed
        for seed in seeds
    )
    _check_schedule(settings)
    return FleetSpec(method, runs, settings)


def _tasks_of(sequence: str | Many[Task]) -> tuple[str, tuple[Task, ...]]:
    if isinstance(sequence, str):
        found = parse_sequence(sequence)
        return found.name, tuple(found.tasks)
    tasks = tuple(sequence)
    return ",".join(task_label(task) for task in tasks), tasks


def _check_schedule(settings: Settings) -> None:
    schedule = settings.schedule
    chunk = schedule.chunk_steps
    if chunk < 1:
        raise BadValueError(f"chunk_steps {chunk} must be at least 1")
    for name in ("steps_per_task", "evaluate_every", "record_every", "replay_capacity"):
        value = getattr(schedule, name)
        if value < chunk or value % chunk:
            raise BadValueError(
                f"{name} {value} must be a multiple of the chunk of {chunk} steps; "
                f"{max(chunk, round(value / chunk) * chunk)} is the nearest"
            )


def blueprint_of(spec: FleetSpec) -> tuple[Blueprint, int]:
    """The learner's blueprint, and the size of the largest simulator state."""
    from recall.worlds.episodes import Episodes

    sizes: dict[tuple[int, int], str] = {}
    state_size = 0
    for task in dict.fromkeys(task for run in spec.runs for task in run.tasks):
        simulator = make_simulator(task, 1, spec.settings.world)
        shape = (simulator.observation_space.shape[0], simulator.action_space.shape[0])
        sizes.setdefault(shape, task_label(task))
        state_size = max(state_size, Episodes(simulator, 1, [(0,)]).state_size)
        simulator.close()
    if len(sizes) > 1:
        (first, one), (second, other) = list(sizes.items())[:2]
        raise BadValueError(
            f"tasks of one fleet must agree in shape: {one} has {first[0]} observations and "
            f"{first[1]} actions, {other} has {second[0]} and {second[1]}"
        )
    columns = Columns(*next(iter(sizes)))
    return Blueprint(spec.method, spec.settings.learner, columns, spec.tasks), state_size


def spec_from(description: dict[str, Any]) -> FleetSpec:
    """The fleet that `describe` described."""
    method = dict(description["method"])
    chosen = from_plain(method_class(method.pop("name")), method)
    runs = tuple(
        RunSpec(run["name"], run["seed"], run["sequence"], tuple(run["tasks"]))
        for run in description["runs"]
    )
    return FleetSpec(chosen, runs, from_plain(Settings, description["settings"]))


def from_plain(kind: Any, value: Any) -> Any:
    """A dataclass from plain data, checked field by field."""
    if not dataclasses.is_dataclass(kind):
        return tuple(value) if isinstance(value, list) else value
    made: Any = kind
    hints = typing.get_type_hints(made)
    names = {field.name for field in dataclasses.fields(made)}
    unknown = set(value) - names
    if unknown:
        raise BadValueError(
            f"{made.__name__} has no setting {sorted(unknown)[0]!r}; it has {sorted(names)}"
        )
    return made(**{name: from_plain(_plain_type(hints[name]), value[name]) for name in value})


def _plain_type(hint: Any) -> Any:
    if isinstance(hint, types.UnionType):
        return next((arg for arg in typing.get_args(hint) if arg is not type(None)), hint)
    return hint
