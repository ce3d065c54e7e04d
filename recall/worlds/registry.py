"""Registry of worlds and their tasks. A new world is one line in `BUILTIN`, or a plug-in."""

from collections.abc import Callable, Iterable
from importlib import import_module
from itertools import chain
from types import ModuleType
from typing import TYPE_CHECKING, Any

from recall.errors import BadValueError, UnknownNameError
from recall.plugins import HOW_TO_IMPORT, Registry, note
from recall.settings import WorldSettings

if TYPE_CHECKING:  # importing them would make listing names slow
    import gymnasium

    from recall.worlds.simulator import Simulator

# A registered name, "gym:<id>", or a function that makes a Gymnasium environment.
Task = str | Callable[[], "gymnasium.Env[Any, Any]"]

GYMNASIUM = "gymnasium"
GYMNASIUM_PREFIX = "gym:"


# Worlds and their modules, each with TASKS, HORIZON_STEPS and make_simulator(task, slots). Where
# make_simulator takes settings, SETTINGS of the module names these fields of WorldSettings.
BUILTIN = {
    "continual_world": "recall.worlds.continual_world",
    "pointworld": "recall.worlds.pointworld",
}
_NEEDED = ("TASKS", "HORIZON_STEPS", "make_simulator")


def _checked(name: str, module: Any) -> str:
    """Return the module's name, if it has what a world needs and no other world's tasks."""
    missing = [needed for needed in _NEEDED if not hasattr(module, needed)]
    if not isinstance(module, ModuleType) or missing:
        raise BadValueError(
            f"world {name!r} is {module!r}, which is no module with {', '.join(_NEEDED)}"
        )
    for other in _WORLDS.known():
        shared = set(module.TASKS) & set(_module(other).TASKS) if other != name else ()
        if shared:
            raise BadValueError(f"world {name!r} has a task {min(shared)!r}, as {other} has")
    return module.__name__


_WORLDS: Registry[str] = Registry("recall.worlds", BUILTIN, _checked)


def _module(world: str) -> ModuleType:
    return import_module(_WORLDS[world])


def register_world(name: str, module: str | ModuleType) -> None:
    """Make a world known: a module with TASKS, HORIZON_STEPS and make_simulator(task, slots).

    Its tasks are then known by their names, in worker processes too, which import the module. If
    make_simulator takes settings, SETTINGS of the module names these fields of WorldSettings.
    """
    if name in BUILTIN:
        raise BadValueError(f"world {name!r} is one of recall's own: choose another name")
    found = import_module(module) if isinstance(module, str) else module
    _WORLDS[name] = _checked(name, found)
    note(found.__name__)


def registered_worlds() -> dict[str, str]:
    """Return the worlds of plug-ins and their modules, to be registered in another process."""
    return {name: module for name, module in _WORLDS.known().items() if name not in BUILTIN}


def tasks_of(world: str) -> tuple[str, ...]:
    """Return the tasks of one world, in its own order."""
    if world not in _WORLDS:
        raise UnknownNameError("world", world, _WORLDS)
    return tuple(_module(world).TASKS)


def task_names() -> tuple[str, ...]:
    """Return every registered task, world by world."""
    return tuple(task for world in _WORLDS for task in tasks_of(world))


def task_label(task: Task) -> str:
    """Return the name of a task for messages."""
    return task if isinstance(task, str) else getattr(task, "__name__", repr(task))


def refuse_nameless(task: Task) -> None:
    """Raise an error for a function whose name cannot identify its results, such as a lambda."""
    name = getattr(task, "__name__", None)
    if not isinstance(task, str) and (not isinstance(name, str) or name == "<lambda>"):
        raise BadValueError(
            f"task {task!r} has no name of its own, which its results need: define it with "
            "`def my_task(): ...`"
        )


def tasks_in(given: Task | Iterable[Task]) -> list[Task]:
    """Return the one or several tasks that an argument holds, all of them known ones."""
    several = isinstance(given, Iterable) and not isinstance(given, str | type)
    tasks: list[Any] = list(given) if several and not callable(given) else [given]
    for task in tasks:
        world_of(task)
    return tasks


def world_of(task: Task) -> str:
    """Return the world of a task. Raises UnknownNameError for an unknown name."""
    if not isinstance(task, str):
        if not isinstance(task, type) and hasattr(task, "reset") and hasattr(task, "step"):
            raise BadValueError(
                f"task {task} is an environment; give a function that makes it, since every run "
                "and worker process needs its own"
            )
        if callable(task):
            return GYMNASIUM
        raise BadValueError(
            f"task {task!r} is neither a name nor a function that makes an environment"
        )
    if task.startswith(GYMNASIUM_PREFIX):
        return GYMNASIUM
    if (world := _world_with(task)) is not None:
        return world
    hint = gymnasium_hint(task) or (
        f"Any Gymnasium environment with box spaces is a task too, as gym:<id>. {HOW_TO_IMPORT}"
    )
    if task.isidentifier():  # as the names of functions are, and of few other tasks
        hint += f" A task that is a function is made from itself: recall.make({task})."
    raise UnknownNameError("task", task, task_names(), hint)


def gymnasium_hint(name: str) -> str:
    """Return how to name Gymnasium's environment of that id here, or nothing if there is none."""
    import gymnasium

    known = name in gymnasium.registry
    return f"Gymnasium's environment {name} is {GYMNASIUM_PREFIX}{name} here." if known else ""


def is_gymnasium(task: Task) -> bool:
    """Return True for Gymnasium environments, given by id or as a function."""
    return not isinstance(task, str) or task.startswith(GYMNASIUM_PREFIX)


def is_task(name: str) -> bool:
    """Return True for the name of a task of a world, or of Gymnasium's."""
    return name.startswith(GYMNASIUM_PREFIX) or _world_with(name) is not None


def _world_with(task: str) -> str | None:
    """Return the world that has a task; installed packages are asked only after the others."""
    worlds = chain(_WORLDS.known(), _WORLDS)
    return next((world for world in worlds if task in tasks_of(world)), None)


def make_simulator(task: Task, slots: int, settings: WorldSettings) -> "Simulator":
    """Return a simulator with `slots` copies of a task; its world's module is imported here."""
    world = world_of(task)
    if world == GYMNASIUM:
        from recall.worlds.gym_world import GymnasiumSimulator

        return GymnasiumSimulator(task, slots, settings.horizon_steps)
    module = _module(world)
    chosen = {name: getattr(settings, name) for name in getattr(module, "SETTINGS", ())}
    return module.make_simulator(task, slots, **chosen)


def default_horizon_steps(task: Task) -> int:
    """Return the default episode length: the world's, or the time limit of Gymnasium's task."""
    world = world_of(task)
    if world != GYMNASIUM:
        return int(_module(world).HORIZON_STEPS)
    from recall.worlds.gym_world import time_limit

    return time_limit(task)


def horizon_steps(task: Task, settings: WorldSettings) -> int:
    """Return the episode length of `task` under `settings`."""
    return settings.horizon_steps or default_horizon_steps(task)
