"""The spec of a fleet: method, sequences of one length, seeds and settings."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Sequence as Many
from dataclasses import dataclass
from typing import Annotated, Any
from zlib import crc32

from recall.collect.task_schedule import TaskSchedule
from recall.errors import BadValueError
from recall.files.names import file_name
from recall.learn.agent import shared_layers
from recall.methods import METHODS, Method, method_class
from recall.settings import Settings
from recall.settings.checked import LARGEST_WHOLE, Range, from_plain, replaced
from recall.worlds.registry import Task, is_task, refuse_nameless, task_label, world_of
from recall.worlds.sequences import parse_sequence

# One sequence: "cw3-1"; "push,hammer"; make_env; ["push", make_env]. Several: a list of these.
Sequences = str | Callable[[], Any] | Many[Task] | Many[str | Many[Task]]


@dataclass(frozen=True)
class RunSpec:
    """One run of a fleet."""

    name: str
    seed: int
    sequence: str
    tasks: tuple[Task, ...]
    own: tuple[tuple[str, float], ...] = ()
    """Settings that differ between the fleet's runs, by their dotted names in the FleetSpec."""

    @property
    def task_names(self) -> tuple[str, ...]:
        """Return the names of the tasks, in the order of the sequence."""
        return tuple(map(task_label, self.tasks))

    @property
    def own_seed(self) -> int:
        """Return the seed of the run's random numbers, which its seed and its tasks determine.

        Runs of one seed whose sequences begin alike are therefore independent of each other.
        """
        return self.seed ^ (crc32(",".join(self.task_names).encode()) & LARGEST_WHOLE)

    def with_own(self, own: Mapping[str, float], method: str) -> "RunSpec":
        """Return this run with values of its own, which its name tells."""
        values = "-".join(f"{path.rpartition('.')[2]}={value}" for path, value in own.items())
        name = file_name(f"{method}-{self.sequence}-{values}-seed{self.seed}")
        return dataclasses.replace(self, name=name, own=tuple(own.items()))


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
    def hidden(self) -> bool:
        """Return True if the boundaries between tasks are hidden from the learner."""
        return self.settings.schedule.boundaries == "hidden"

    @property
    def learner_schedule(self) -> TaskSchedule:
        """Return the schedule as the learner knows it: with hidden boundaries, of one long task."""
        if not self.hidden:
            return self.task_schedule
        return TaskSchedule("all", 1, self.total_steps, self.settings.schedule.chunk_steps)

    def head(self, position: int) -> int:
        """Return the number of the head that acts on the task at a position of the sequence."""
        return 0 if self.hidden else position

    @property
    def replay_capacity(self) -> int:
        """Return how many transitions replay holds of one of the learner's tasks, at most.

        With hidden boundaries these are as many as a learner that knows them holds in all.
        """
        capacity = self.settings.schedule.replay_capacity
        if not self.hidden:
            return capacity
        held = self.tasks if self.method.stores_old_data() else 1
        return held * min(capacity, self.steps_per_task)

    @property
    def functions(self) -> dict[str, Task]:
        """Return the tasks that are the user's functions, by name."""
        tasks = (task for run in self.runs for task in run.tasks)
        return {task_label(task): task for task in tasks if not isinstance(task, str)}

    def alone(self, run: RunSpec) -> "FleetSpec":
        """Return the fleet of one of the runs, with the run's own settings."""
        one = dataclasses.replace(run, own=())
        return dataclasses.replace(replaced(self, dict(run.own)), runs=(one,))

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
                | ({"own": dict(run.own)} if run.own else {})
                for run in self.runs
            ],
            "functions": sorted(self.functions),
            "settings": dataclasses.asdict(self.settings),
        }


def make_spec(
    method: str | Method, sequences: Sequences, seeds: Iterable[int], settings: Settings
) -> FleetSpec:
    """Check the arguments and return the fleet of every seed on every sequence."""
    method = checked_method(method)
    parsed = [_tasks_of(sequence) for sequence in _listed(sequences)]
    seeds = _checked_seeds(seeds)
    for refusal in (*_of_sequences(parsed, settings), *_of_method(method, settings)):
        raise BadValueError(refusal)
    runs = tuple(
        RunSpec(file_name(f"{method.name}-{name}-seed{seed}"), seed, name, tasks)
        for name, tasks in parsed
        for seed in seeds
    )
    return FleetSpec(method, runs, settings)


def checked_method(method: str | Method) -> Method:
    """Return the method of that name with its defaults, or the method itself; refuse all else."""
    if isinstance(method, str):
        return method_class(method)()
    if isinstance(method, Method):
        return method
    what = f"the class {method.__name__}" if isinstance(method, type) else repr(method)
    raise BadValueError(
        f"{what} is not a method: give its name, such as 'recall', or an object of its class, "
        "such as recall.methods.Recall()"
    )


def each_alone(names: Many[str]) -> list[str | list[Task]]:
    """Return sequences of which every name is one, even if it names a single task."""
    return [[name] if _is_one_task(name) else name for name in names]


def _is_one_task(item: Any) -> bool:
    return callable(item) or (isinstance(item, str) and "," not in item and is_task(item))


def _listed(sequences: Sequences) -> list[Any]:
    """Return a list of sequences: a list of tasks is one sequence, a list of sequences several."""
    if isinstance(sequences, str):
        return [sequences]
    if callable(sequences) or not isinstance(sequences, Iterable):
        return [[sequences]]
    items: list[Any] = list(sequences)
    tasks = [item for item in items if _is_one_task(item)]
    others = [item for item in items if not _is_one_task(item)]
    for other in others:
        _tasks_of(other)  # an unknown name is refused as such
    if tasks and others:
        raise BadValueError(
            f"sequence has tasks ({task_label(tasks[0])}) beside sequences ({others[0]!r}): give a "
            "list of tasks, which is one sequence, or a list of sequences, in which one task "
            "alone is a list too"
        )
    return [items] if tasks else items


def _tasks_of(sequence: str | Many[Task]) -> tuple[str, tuple[Task, ...]]:
    if isinstance(sequence, str):
        found = parse_sequence(sequence)
        return found.name, tuple(found.tasks)
    tasks = tuple(sequence) if isinstance(sequence, Iterable) else (sequence,)
    for task in tasks:
        world_of(task)  # refuses what is no task
        refuse_nameless(task)
    return ",".join(task_label(task) for task in tasks), tasks


def _checked_seeds(seeds: Iterable[int]) -> list[int]:
    if isinstance(seeds, str) or not isinstance(seeds, Iterable):
        raise BadValueError(f"seeds {seeds!r}: give a list or a range of seeds, such as [3]")
    found = [from_plain(Annotated[int, Range(least=0)], seed, "seed") for seed in seeds]
    if not found or len(set(found)) != len(found):
        raise BadValueError(f"seeds {found}: give at least one seed, and each only once")
    return found


def _of_sequences(parsed: list[tuple[str, tuple[Task, ...]]], settings: Settings) -> Iterator[str]:
    """Yield why sequences cannot be those of a fleet."""
    if not parsed or not all(tasks for _, tasks in parsed):
        yield "a fleet needs at least one sequence with at least one task"
        return
    for name, number in Counter(name for name, _ in parsed).items():
        if number > 1:
            yield f"sequence {name} is given twice; for more runs of it, give more seeds"
    lengths = {name: len(tasks) for name, tasks in parsed}
    if len(set(lengths.values())) != 1:
        yield f"a fleet's sequences must have the same length; these have {lengths}"
    meant: dict[str, Task] = {}
    for task in (task for _, tasks in parsed for task in tasks):
        if meant.setdefault(task_label(task), task) != task:
            yield f"two different tasks are called {task_label(task)!r}: give each its own name"
    tasks, steps = len(parsed[0][1]), settings.schedule.steps_per_task
    if tasks * steps > LARGEST_WHOLE:
        yield (
            f"steps_per_task is {steps:,}, which is too many for {tasks} tasks: a run has at most "
            f"{LARGEST_WHOLE:,} steps"
        )


def _of_method(method: Method, settings: Settings) -> Iterator[str]:
    """Yield why settings do not fit a method."""
    updates, burst = method.retraining_updates, settings.learner.updates_per_burst
    if updates % burst:
        yield (
            f"retraining_updates is {updates}; expected a multiple of updates_per_burst, which is "
            f"{burst}; {max(burst, round(updates / burst) * burst)} is the nearest"
        )
    hidden = settings.schedule.boundaries == "hidden"
    if hidden and (reason := method.needs_boundaries()):
        without = [name for name, kind in METHODS.items() if not kind().needs_boundaries()]
        yield (
            f"boundaries is 'hidden', but {method.name} must know them: {reason}; use "
            f"boundaries='announced', or a method that does without, such as {', '.join(without)}"
        )
    if hidden and settings.schedule.keep_replay:
        yield (
            "keep_replay is True, but with hidden boundaries the transitions of all tasks are one "
            "ring, which cannot be exported by task; use keep_replay=False"
        )
    remedy, network = settings.learner.plasticity.remedy, settings.learner.network
    misfit, layers = method.refused_remedies.get(remedy), len(network.hidden)
    heads = (method.actor_heads, method.critic_heads)
    shared = any(shared_layers(each, layers, network.head_layers) for each in heads)
    if remedy not in ("none", "c_chain") and not shared:
        misfit = "it changes layers that tasks share, and here they share none"
    if remedy == "shrink_and_perturb" and (hidden or method.collects == "all"):
        why = "boundaries is 'hidden'" if hidden else "all start together"
        misfit = f"it acts at the start of every task, and {why}"
    if misfit is not None:
        yield (
            f"remedy is {remedy!r}, which does not fit {method.name}: {misfit}; use "
            "remedy='c_chain' or remedy='none'"
        )
