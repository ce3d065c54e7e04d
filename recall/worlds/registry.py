"""Which tasks there are, and the world each comes from. A world is one line in `_WORLDS`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, get_args

from recall.errors import BadValueError, UnknownNameError
from recall.settings import ObservationName, RewardName, WorldSettings

if TYPE_CHECKING:  # listing names must stay quick
    import gymnasium
    from gymnasium.spaces import Box

    from recall.worlds.simulator import Simulator

# A registered name, "gym:<id>", or a function that makes a Gymnasium environment.
Task = str | Callable[[], "gymnasium.Env[Any, Any]"]

GYMNASIUM = "gymnasium"
GYMNASIUM_PREFIX = "gym:"


@dataclass(frozen=True)
class _World:
    """A module with TASKS, HORIZON_STEPS and make_simulator(task, slots, **chosen settings)."""

    module: str
    settings: tuple[str, ...] = ()  # the fields of WorldSettings that its maker takes

    def load(self) -> ModuleType:
        return import_module(self.module)


_WORLDS = {
    "continual_world": _World("recall.worlds.continual_world", ("reward", "observation")),
    "pointworld": _World("recall.worlds.pointworld"),
}


def world_names() -> tuple[str, ...]:
    """The worlds whose tasks have names of their own; Gymnasium's come by `gym:<id>`."""
    return tuple(_WORLDS)


def tasks_of(world: str) -> tuple[str, ...]:
    """The tasks of one world, in its own order."""
    if world not in _WORLDS:
        raise UnknownNameError("world", world, _WORLDS)
    return tuple(_WORLDS[world].load().TASKS)


def task_names() -> tuple[str, ...]:
    """Every registered task, world by world."""
    return tuple(task for world in _WORLDS for task in tasks_of(world))


def task_label(task: Task) -> str:
    """What to call a task in a message."""
    return task if isinstance(task, str) else getattr(task, "__name__", repr(task))


def world_of(task: Task) -> str:
    """The world a task belongs to; refuses a name that no world knows."""
    if not isinstance(task, str):
        if callable(task):
            return GYMNASIUM
        raise BadValueError(f"task {task!r} is neither a name nor a function making an environment")
    if task.startswith(GYMNASIUM_PREFIX):
        return GYMNASIUM
    for world in _WORLDS:
        if task in tasks_of(world):
            return world
    hint = "Any Gymnasium environment with box spaces is a task too, as gym:<id>."
    raise UnknownNameError("task", task, task_names(), hint)


def check_settings(settings: WorldSettings) -> None:
    """Refuse a reward, observation or horizon that no task could have."""
    for kind, value, valid in (
        ("reward", settings.reward, get_args(RewardName)),
        ("observation", settings.observation, get_args(ObservationName)),
    ):
        if value not in valid:
            raise UnknownNameError(kind, value, valid)
    horizon = settings.horizon_steps
    if horizon is not None and (
        isinstance(horizon, bool) or int(horizon) != horizon or horizon < 1
    ):
        raise BadValueError(f"horizon {horizon!r} is not a positive number of steps")


def make_simulator(task: Task, slots: int, settings: WorldSettings) -> "Simulator":
    """`slots` copies of a task; its world's module is imported here and not before."""
    check_settings(settings)
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
    """The length of an episode where the user names none: the world's, or Gymnasium's limit."""
    world = world_of(task)
    if world != GYMNASIUM:
        return int(_WORLDS[world].load().HORIZON_STEPS)
    from recall.worlds.gym_world import time_limit

    return time_limit(task)


def horizon_steps(task: Task, settings: WorldSettings) -> int:
    """The length of an episode of `task` under `settings`."""
    check_settings(settings)
    return settings.horizon_steps or default_horizon_steps(task)


class HasSpaces(Protocol):
    """A simulator, or what a worker process tells about one."""

    @property
    def task(self) -> str: ...  # noqa: D102
    @property
    def observation_space(self) -> "Box": ...  # noqa: D102
    @property
    def action_space(self) -> "Box": ...  # noqa: D102


def check_same_shapes(simulators: Sequence[HasSpaces]) -> None:
    """Refuse tasks that one network could not serve, naming two of them and their shapes."""
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
