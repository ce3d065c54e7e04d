"""Registry of worlds and their tasks. A new world is one line in `_WORLDS`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from recall.errors import BadValueError, UnknownNameError
from recall.settings import WorldSettings

if TYPE_CHECKING:  # importing them would make listing names slow
    import gymnasium
    from gymnasium.spaces import Box

    from recall.worlds.simulator import Simulator

# A registered name, "gym:<id>", or a function that makes a Gymnasium environment.
Task = str | Callable[[], "gymnasium.Env[Any, Any]"]

GYMNASIUM = "gymnasium"
GYMNASIUM_PREFIX = "gym:"


@dataclass(frozen=True)
class _World:
    """World: a module with TASKS, HORIZON_STEPS and make_simulator(task, slots, **settings)."""

    module: str
    settings: tuple[str, ...] = ()  # fields of WorldSettings that make_simulator takes

    def load(self) -> ModuleType:
        return import_module(self.module)


_WORLDS = {
    "continual_world": _World("recall.worlds.continual_world", ("reward", "observation")),
    "pointworld": _World("recall.worlds.pointworld"),
}


def world_names() -> tuple[str, ...]:
    """Return the worlds with named tasks; Gymnasium's tasks are named `gym:<id>` instead."""
    return tuple(_WORLDS)


def tasks_of(world: str) -> tuple[str, ...]:
    """Return the tasks of one world, in its own order."""
    if world not in _WORLDS:
        raise UnknownNameError("world", world, _WORLDS)
    return tuple(_WORLDS[world].load().TASKS)


def task_names() -> tuple[str, ...]:
    """Return every registered task, world by world."""
    return tuple(task for world in _WORLDS for task in tasks_of(world))


def task_label(task: Task) -> str:
    """Return the name of a task for messages."""
    return task if isinstance(task, str) else getattr(task, "__name__", repr(task))


def world_of(task: Task) -> str:
    """Return the world of a task. Raises UnknownNameError for an unknown name."""
    if not isinstance(task, str):
        if callable(task):
            return GYMNASIUM
        raise BadValueError(
            f"task {task!r} is neither a name nor a function that makes an environment"
        )
    if task.startswith(GYMNASIUM_PREFIX):
        return GYMNASIUM
    for world in _WORLDS:
        if task in tasks_of(world):
            return world
    hint = "Any Gymnasium environment with box spaces is a task too, as gym:<id>."
    raise UnknownNameError("task", task, task_names(), hint)


def make_simulator(task: Task, slots: int, settings: WorldSettings) -> "Simulator":
    """Return a simulator with `slots` copies of a task.

    The module of its world is imported here, not earlier.
    """
    if slots < 1:
        raise BadValueError(f"{slots} slots of {task_label(task)}: at least one is needed")
    world = world_of(task)
    if world == GYMNASIUM:
        from recall.worlds.gym_world import GymnasiumSimulator

        return GymnasiumSimulator(task, slots, settings.horizon_steps)
    entry = _WORLDS[world]
    chosen = {name: getattr(settings, name) for name in entry.settings}
    simulator: Simulator = entry.load().make_simulator(task, slots, **chosen)
    return simulator


def default_horizon_steps(task: Task) -> int:
    """Return the default episode length: the world's, or the time limit of Gymnasium's task."""
    world = world_of(task)
    if world != GYMNASIUM:
        return int(_WORLDS[world].load().HORIZON_STEPS)
    from recall.worlds.gym_world import time_limit

    return time_limit(task)


def horizon_steps(task: Task, settings: WorldSettings) -> int:
    """Return the episode length of `task` under `settings`."""
    return settings.horizon_steps or default_horizon_steps(task)


class HasSpaces(Protocol):
    """A simulator, or a worker process's report on one."""

    @property
    def task(self) -> str: ...  # noqa: D102
    @property
    def observation_space(self) -> "Box": ...  # noqa: D102
    @property
    def action_space(self) -> "Box": ...  # noqa: D102


def check_same_shapes(simulators: Sequence[HasSpaces]) -> None:
    """Raise BadValueError if the shapes of observations or actions differ between tasks.

    The message names two such tasks and their shapes.
    """
    first = simulators[0]
    for other in simulators[1:]:
        for kind, one, two in (
            ("observation", first.observation_space.shape, other.observation_space.shape),
            ("action", first.action_space.shape, other.action_space.shape),
        ):
            if one != two:
                raise BadValueError(
                    f"{kind}s of {first.task} have shape {one}, those of {other.task} {two}: "
                    "tasks that are used together must have the same shapes"
                )
