"""Ids of Gymnasium environments: registering ours, finding others, and telling worker processes.

A worker has not imported what registers a user's environments, so it is sent the registry.
"""

import dataclasses
import warnings
from collections.abc import Collection
from importlib import import_module
from typing import Any, NamedTuple

import cloudpickle
import gymnasium
from gymnasium.envs.registration import EnvSpec, load_env_creator

from recall.errors import BadValueError, UnknownNameError, described
from recall.worlds.registry import (
    GYMNASIUM_PREFIX,
    Task,
    default_horizon_steps,
    is_gymnasium,
    register_world,
    registered_worlds,
    tasks_of,
    world_of,
)
from recall.worlds.sequences import parse_sequence, sequence_names

# Maps a world to its namespace, the part of the id before the slash.
_NAMESPACES = {"continual_world": "ContinualWorld", "pointworld": "PointWorld"}
_VERSION = "v1"


def register_all() -> None:
    """Register our tasks and sequences with Gymnasium, but neither plug-ins' nor the pairs."""
    for world in _NAMESPACES:
        for task in tasks_of(world):
            _register(
                task,
                task,
                entry_point="recall.worlds.env:registered_env",
                vector_entry_point="recall.worlds.vector:registered_vec",
                kwargs={"task": task},
            )
    for name in sequence_names():
        if not name.startswith("pair-"):
            _register(
                name,
                parse_sequence(name).tasks[0],
                entry_point="recall.worlds.sequence_env:registered_sequence",
                kwargs={"sequence": name},
            )


def _register(name: str, task: str, **spec: Any) -> None:
    """Register a task or sequence as `name` in the namespace of its task's world."""
    world = world_of(task)
    full_name = f"{_NAMESPACES[world]}/{name}-{_VERSION}"
    if full_name not in gymnasium.registry:  # it is when Python reloads the package
        gymnasium.register(full_name, max_episode_steps=default_horizon_steps(task), **spec)


def environment_id(task: Task) -> str | None:
    """Return the Gymnasium id of a task of this package, or None for Gymnasium's own tasks."""
    namespace = _NAMESPACES.get(world_of(task))
    return f"{namespace}/{task}-{_VERSION}" if namespace else None


def known_spec(task: str) -> EnvSpec:
    """Return what Gymnasium knows about `gym:<id>` or `gym:<module>:<id>`; import that module."""
    module, name = _module_and_id(task)
    if module is not None:
        try:
            import_module(module)
        except (Exception, SystemExit) as error:
            raise BadValueError(
                f"Gymnasium task {task!r}: its module {module!r} cannot be imported: "
                f"{described(error)}. It must be installed or on PYTHONPATH; a file "
                f"is loaded with --plugin, and the task is then {GYMNASIUM_PREFIX}<id>"
            ) from error
    try:
        return gymnasium.spec(name)
    except gymnasium.error.Error as error:
        known = (f"{GYMNASIUM_PREFIX}{known}" for known in gymnasium.registry)
        hint = (
            f"Gymnasium says: {str(error).rstrip('.')}. Load the module that registers it: "
            "--plugin, or import it in Python."
        )
        raise UnknownNameError("Gymnasium task", task, known, hint) from error


def is_registered(task: str) -> bool:
    """Return True if the id of a task is registered, or its name says which module registers it."""
    module, name = _module_and_id(task)
    return module is not None or name in gymnasium.registry


def _module_and_id(task: str) -> tuple[str | None, str]:
    before, colon, after = task.removeprefix(GYMNASIUM_PREFIX).rpartition(":")
    return (before if colon else None), after


class Registrations(NamedTuple):
    """Worlds and Gymnasium environments that a new process does not know by itself."""

    worlds: dict[str, str]  # of plug-ins: name and module
    gym_specs: dict[str, bytes]  # by id, pickled; none if no task is Gymnasium's
    needed: frozenset[str]  # ids that are tasks themselves

    def register(self) -> None:
        """Register them in this process."""
        for name, module in self.worlds.items():
            register_world(name, module)
        # Importing the module that registered an environment registers it here once more.
        warnings.filterwarnings("ignore", message=".*Overriding environment .* already in registry")
        for name, content in self.gym_specs.items():
            try:
                gymnasium.registry[name] = cloudpickle.loads(content)
            except Exception as error:  # its module may raise anything here; nobody may need it
                if name in self.needed:
                    raise BadValueError(
                        f"task {GYMNASIUM_PREFIX}{name} is registered in the main process, but a "
                        f"worker process cannot read it ({described(error)})"
                    ) from error
                # Gymnasium's own environment of this id is not what was meant.
                gymnasium.registry.pop(name, None)


def registrations_for(tasks: Collection[Any]) -> Registrations:
    """Return what a worker process needs to make the environments of these tasks."""
    specs = gymnasium.registry if any(is_gymnasium(task) for task in tasks) else {}
    needed = frozenset(_module_and_id(task)[1] for task in tasks if isinstance(task, str))
    sent = {}
    # All of them, because an environment may make others by their ids.
    for name, spec in specs.items():
        entry = spec.entry_point
        try:
            if isinstance(entry, str) and entry.startswith("__main__:"):  # another module there
                creator: Any = load_env_creator(entry)
                spec = dataclasses.replace(spec, entry_point=creator)
            sent[name] = cloudpickle.dumps(spec)
        except Exception as error:  # a user's objects may raise anything when they are pickled
            if name in needed:
                raise BadValueError(
                    f"task {GYMNASIUM_PREFIX}{name} cannot be sent to a worker process ({error}): "
                    "register it with an entry point and arguments that can be pickled"
                ) from error
    return Registrations(registered_worlds(), sent, needed)
