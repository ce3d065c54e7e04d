"""Registry of worlds and their tasks. A new world is one line in `BUILTIN`, or a plug-in."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from recall.errors import BadValueError, UnknownNameError
from recall.plugins import HOW_TO_IMPORT, note
from recall.plugins.registry import Registry
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


def register_worlds(worlds: Mapping[str, str]) -> None:
    """Register the worlds that `registered_worlds` returned in the process that started this."""
    for name, module in worlds.items():
        register_world(name, module)


def tasks_of(world: str) -> tuple[str, ...]:
    """Return the tasks of one world, in its own order."""
    if world not in _WORLDS:
        raise UnknownNameError("world", world, _WORLDS)
    return tuple(_module(world).TASKS)


def world_horizon_steps(world: str) -> int:
    """Return the default episode length of one world."""
    return int(_module(world).HORIZON_STEPS)


def task_names() -> tuple[str, ...]:
    """Return every registered task, world by world."""
    return tuple(task for world in _WORLDS for task in tasks_of(world))


def task_label(task: Task) -> str:
    """Return the name of a task for messages."""
    return task if isinstance(task, str) else getattr(task, "__name__", repr(task))


def refuse_nameless(task: Task) -> None:
    """Raise an error for a function whose name cannot identify its results.

    Reports pool the runs of tasks with equal names. Every lambda has the same one, and the text of
    any other object without a name contains its address, which differs between processes.
    """
    name = getattr(task, "__name__", None)
    if not isinstance(task, str) and (not isinstance(name, str) or name == "<lambda>"):
        raise BadValueError(
            f"task {task!r} has no name of its own, which its results need: define it with "
            "`def my_task(): ...`"
        )


def refuse_instance(task: Any) -> None:
    """Raise an error for an environment that is given itself, instead of a function making it."""
    if not isinstance(task, type) and hasattr(task, "reset") and hasattr(task, "step"):
        raise BadValueError(
            f"task {task} is an environment; give a function that makes it, since every run and "
            "worker process needs its own"
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
        refuse_instance(task)
        if callable(task):
            return GYMNASIUM
        raise BadValueError(
            f"task {task!r} is neither a name nor a function that makes an environment"
        )
    if task.startswith(GYMNASIUM_PREFIX):
        return GYMNASIUM
    if is_task(task):
        return next(world for world in _worlds_in_turn() if task in tasks_of(world))
    hint = gymnasium_hint(task) or (
        f"Any Gymnasium environment with box spaces is a task too, as gym:<id>. {HOW_TO_IMPORT}"
    )
    if task.isidentifier():  # as the names of functions are, and of few other tasks
        hint += " A task that is a Python function is made from the function itself, not its name: "
        hint += f"recall.make({task})."
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
    prefixed = name.startswith(GYMNASIUM_PREFIX)
    return prefixed or any(name in tasks_of(world) for world in _worlds_in_turn())


def _worlds_in_turn() -> Iterator[str]:
    """Yield the registered worlds, and only then those of installed packages."""
    known = list(_WORLDS.known())
    yield from known
    yield from (world for world in _WORLDS if world not in known)


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
    module = _module(world)
    chosen = {name: getattr(settings, name) for name in getattr(module, "SETTINGS", ())}
    return module.make_simulator(task, slots, **chosen)


def default_horizon_steps(task: Task) -> int:
    """Return the default episode length: the world's, or the time limit of Gymnasium's task."""
    world = world_of(task)
    if world != GYMNASIUM:
        return world_horizon_steps(world)
    from recall.worlds.gym_world import time_limit

    return time_limit(task)


def horizon_steps(task: Task, settings: WorldSettings) -> int:
    """Return the episode length of `task` under `settings`."""
    return settings.horizon_steps or default_horizon_steps(task)


def check_same_shapes(simulators: "Sequence[Simulator]") -> None:
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
