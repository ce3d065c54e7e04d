"""The spec of a fleet (method, sequences of one length, seeds, settings) and its JSON form."""

import dataclasses
import math
import re
import zlib
from collections.abc import Callable, Mapping
from collections.abc import Sequence as Many
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral
from typing import Any

from recall.collect.task_schedule import TaskSchedule
from recall.collect.transition import Columns
from recall.config.convert import from_plain
from recall.errors import BadValueError
from recall.learn.agent import Agent
from recall.methods import METHODS, Method, method_class
from recall.plugins import check_named
from recall.settings import Settings
from recall.worlds.episodes import Episodes
from recall.worlds.registry import (
    Task,
    check_same_shapes,
    is_task,
    make_simulator,
    refuse_instance,
    task_label,
)
from recall.worlds.sequences import parse_sequence

# A name, tasks or a list of either: "cw3-1"; ["cw3-1", "cw3-2"]; [make_env, other_make_env].
Sequences = str | Many[str | Many[Task] | Callable[[], Any]]

_LARGEST_SEED = 2**31 - 1
_LONGEST_NAME = 80


@dataclass(frozen=True)
class RunSpec:
    """One run of a fleet."""

    name: str
    seed: int
    sequence: str
    tasks: tuple[Task, ...]


@dataclass(frozen=True)
class FleetSpec:
    """The runs of one method that train in lockstep: every seed on every sequence."""

    method: Method
    runs: tuple[RunSpec, ...]
    settings: Settings

    @property
    def tasks(self) -> int:
        """Return the number of tasks in each sequence."""
        return len(self.runs[0].tasks)

    @property
    def steps_per_task(self) -> int:
        """Return the number of steps of each run on each task."""
        return self.settings.schedule.steps_per_task

    @property
    def total_steps(self) -> int:
        """Return the total number of steps of each run."""
        return self.tasks * self.steps_per_task

    @property
    def task_schedule(self) -> TaskSchedule:
        """Return the schedule of which tasks are collected when."""
        chunk_steps = self.settings.schedule.chunk_steps
        return TaskSchedule(self.method.collects, self.tasks, self.steps_per_task, chunk_steps)

    @property
    def functions(self) -> dict[str, Task]:
        """Return the tasks that are the user's functions, by name."""
        tasks = (task for run in self.runs for task in run.tasks)
        return {task_label(task): task for task in tasks if not isinstance(task, str)}

    def describe(self) -> dict[str, Any]:
        """Return the spec as plain data, as stored in run.json."""
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
            "functions": sorted(self.functions),
            "settings": dataclasses.asdict(self.settings),
        }


def make_spec(
    method: str | Method, sequences: Sequences, seeds: Many[int], settings: Settings
) -> FleetSpec:
    """Check the arguments and return the fleet of every seed on every sequence."""
    if isinstance(method, str):
        method = method_class(method)()
    # Objects made in Python may hold anything, so they pass the same checks as files and options.
    checked: Method = from_plain(type(method), dataclasses.asdict(method))
    settings = from_plain(Settings, dataclasses.asdict(settings))
    parsed = [_tasks_of(sequence) for sequence in _listed(sequences)]
    _check_sequences(parsed)
    _check_seeds(seeds)
    _check_settings(settings)
    runs = tuple(
        RunSpec(file_name(f"{checked.name}-{name}-seed{seed}"), seed, name, tasks)
        for name, tasks in parsed
        for seed in seeds
    )
    return FleetSpec(checked, runs, settings)


def _listed(sequences: Sequences) -> list[Any]:
    """Return a list of sequences; a list that contains functions is one sequence of tasks."""
    if isinstance(sequences, str):
        return [sequences]
    refuse_instance(sequences)
    items = list(sequences)
    for item in items:
        refuse_instance(item)
    return [items] if any(callable(item) for item in items) else items


def _tasks_of(sequence: str | Many[Task]) -> tuple[str, tuple[Task, ...]]:
    if isinstance(sequence, str):
        found = parse_sequence(sequence)
        return found.name, tuple(found.tasks)
    tasks = tuple(sequence)
    return ",".join(task_label(task) for task in tasks), tasks


def file_name(text: str) -> str:
    """Return `text` as a file name: odd characters replaced, long names cut but kept distinct."""
    name = re.sub(r"[^\w.,+=-]", "-", text)
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[: _LONGEST_NAME - 9]}-{zlib.crc32(text.encode()):08x}"


def _check_sequences(parsed: list[tuple[str, tuple[Task, ...]]]) -> None:
    if not parsed or not all(tasks for _, tasks in parsed):
        raise BadValueError("a fleet needs at least one sequence with at least one task")
    lengths = {name: len(tasks) for name, tasks in parsed}
    if len(lengths) != len(parsed):
        names = [name for name, _ in parsed]
        twice = next(name for name in names if names.count(name) > 1)
        raise BadValueError(
            f"sequence {twice} is given twice; for more runs of it, give more seeds"
        )
    if len(set(lengths.values())) != 1:
        raise BadValueError(f"a fleet's sequences must have the same length; these have {lengths}")
    meant: dict[str, Task] = {}
    for task in (task for _, tasks in parsed for task in tasks):
        if meant.setdefault(task_label(task), task) != task:
            raise BadValueError(
                f"two different tasks are called {task_label(task)!r}: give each its own name"
            )


def _check_seeds(seeds: Many[int]) -> None:
    if not seeds or len(set(map(str, seeds))) != len(seeds):
        raise BadValueError(f"seeds {list(seeds)}: give at least one seed, and each only once")
    for seed in seeds:
        if not isinstance(seed, Integral):
            raise BadValueError(f"seed {seed!r} is not a whole number")
        if not 0 <= seed <= _LARGEST_SEED:
            raise BadValueError(f"seed {seed} is not between 0 and {_LARGEST_SEED}")


def _check_settings(settings: Settings) -> None:
    schedule = settings.schedule
    for name, value in (
        ("chunk_steps", schedule.chunk_steps),
        ("evaluation_episodes", schedule.evaluation_episodes),
        ("scoring_episodes", schedule.scoring_episodes),
        ("workers", schedule.workers),
        ("updates_per_burst", settings.learner.updates_per_burst),
        ("update_after", schedule.update_after),
        *(("hidden", width) for width in settings.learner.network.hidden or (0,)),
    ):
        if value is not None and value < 1:
            raise BadValueError(f"{name} {value} must be at least 1")
    _check_numbers(settings)
    chunk = schedule.chunk_steps
    for name in ("steps_per_task", "evaluate_every", "record_every", "replay_capacity"):
        value = getattr(schedule, name)
        if value < chunk or value % chunk:
            raise BadValueError(
                f"{name} {value} must be a multiple of the chunk of {chunk} steps; "
                f"{max(chunk, round(value / chunk) * chunk)} is the nearest"
            )


def _check_numbers(settings: Settings) -> None:
    """Check that each setting is above its lower bound and at most its upper bound; reject NaN."""
    sac, popart = settings.learner.sac, settings.learner.popart
    low, high = popart.sigma_bounds
    for name, value, above, most in (
        ("checkpoint_minutes", settings.schedule.checkpoint_minutes, 0.0, math.inf),
        ("learning_rate", sac.learning_rate, 0.0, 1.0),
        ("adam_epsilon", sac.adam_epsilon, 0.0, math.inf),
        ("target_smoothing", sac.target_smoothing, 0.0, 1.0),
        ("target_output_std", sac.target_output_std, 0.0, math.inf),
        ("step_size", popart.step_size, 0.0, 1.0),
        ("the smaller of sigma_bounds", low, 0.0, math.inf),
        ("the larger of sigma_bounds", high, low, math.inf),
    ):
        if not above < value <= most:
            limit = "" if most == math.inf else f" and at most {most:g}"
            raise BadValueError(f"{name} {value} must be above {above:g}{limit}")
    if not 0.0 <= sac.discount <= 1.0:
        raise BadValueError(f"discount {sac.discount} must be between 0 and 1")
    if sac.initial_log_alpha is not None and not math.isfinite(sac.initial_log_alpha):
        raise BadValueError(f"initial_log_alpha {sac.initial_log_alpha} must be a number")
    if settings.schedule.random_steps < 0:
        raise BadValueError(f"random_steps {settings.schedule.random_steps} must not be negative")


def task_sizes(spec: FleetSpec) -> tuple[Columns, int]:
    """Return the tasks' observation and action sizes, and the largest simulator state's size."""
    tasks = dict.fromkeys(task for run in spec.runs for task in run.tasks)
    simulators = [make_simulator(task, 1, spec.settings.world) for task in tasks]
    try:
        check_same_shapes(simulators)
        first = simulators[0]
        columns = Columns(first.observation_space.shape[0], first.action_space.shape[0])
        return columns, max(Episodes(each, 1, [(0,)]).state_size for each in simulators)
    finally:
        for simulator in simulators:
            simulator.close()


@lru_cache(maxsize=4)  # needed to check a fleet, and again to train it
def agent_of(spec: FleetSpec) -> tuple[Agent, int]:
    """Return the fleet's agent and the size of the largest simulator state."""
    columns, state_size = task_sizes(spec)
    agent = Agent(spec.method, spec.settings.learner, columns, spec.tasks)
    _ = agent.actor, agent.critic  # raises an error if the network shapes are invalid
    return agent, state_size


def spec_from(
    description: dict[str, Any], functions: Mapping[str, Task] | None = None
) -> FleetSpec:
    """Return the fleet of a `describe` result; `functions` are the tasks that JSON cannot hold."""
    method = dict(description["method"])
    tasks = {task for run in description["runs"] for task in run["tasks"]}
    named = tasks - set(description.get("functions", ()))
    check_named(description, method["name"] in METHODS and all(map(is_task, named)))
    chosen = from_plain(method_class(method.pop("name")), method)
    given = dict(functions or {})
    missing = [name for name in description.get("functions", ()) if name not in given]
    if missing:
        names = ", ".join(f"{name!r}: {name}" for name in missing)
        raise BadValueError(
            f"it trains on tasks that are Python functions ({', '.join(missing)}), which cannot be "
            f"stored in a file. Continue from Python: recall.resume(folder, functions={{{names}}})"
        )
    runs = tuple(
        RunSpec(
            run["name"],
            run["seed"],
            run["sequence"],
            tuple(given.get(task, task) for task in run["tasks"]),
        )
        for run in description["runs"]
    )
    return FleetSpec(chosen, runs, from_plain(Settings, description["settings"]))
