"""Ids of Gymnasium environments: finding them, and making them known in worker processes.

A user may register environments in a plug-in, in a module or in the script itself. A worker is a
new process that has imported none of these, so it is sent what Gymnasium's registry holds here.
"""

import copy
import warnings
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

import cloudpickle
import gymnasium
from gymnasium.envs.registration import EnvSpec, load_env_creator

from recall.errors import BadValueError, UnknownNameError
from recall.worlds.registry import GYMNASIUM_PREFIX

# Ids that were sent to this process and could not be read here, with the reasons.
_unreadable: dict[str, str] = {}


def known_spec(task: str) -> EnvSpec:
    """Return what Gymnasium knows about `gym:<id>` or `gym:<module>:<id>`; import that module."""
    module, name = _module_and_id(task)
    if module is not None:
        _import(module, task)
    try:
        return gymnasium.spec(name)
    except gymnasium.error.Error as error:
        why = _unreadable.get(name, f"Gymnasium says: {str(error).rstrip('.')}")
        known = (f"{GYMNASIUM_PREFIX}{known}" for known in gymnasium.registry)
        hint = f"{why}. Load the module that registers it: --plugin, or import it in Python."
        raise UnknownNameError("Gymnasium task", task, known, hint) from error


def is_registered(task: str) -> bool:
    """Return True if the id of a task is registered, or its name says which module registers it."""
    module, name = _module_and_id(task)
    return module is not None or name in gymnasium.registry


def _module_and_id(task: str) -> tuple[str | None, str]:
    before, colon, after = task.removeprefix(GYMNASIUM_PREFIX).rpartition(":")
    return (before if colon else None), after


def _import(module: str, task: str) -> None:
    try:
        import_module(module)
    except Exception as error:
        raise BadValueError(
            f"Gymnasium task {task!r}: its module {module!r} cannot be imported "
            f"({type(error).__name__}: {error}). Python must find it, installed or on PYTHONPATH; "
            f"a file is loaded with --plugin, and the task is then {GYMNASIUM_PREFIX}<id>"
        ) from error


def sendable_specs(tasks: Iterable[Any]) -> dict[str, bytes]:
    """Return every registered environment for a worker process that plays these tasks.

    All of them are sent, because functions and environments may make others by id. One that cannot
    be sent is an error only if it is itself a task.
    """
    needed = {_module_and_id(task)[1]: task for task in tasks if isinstance(task, str)}
    sent = {}
    for name, spec in gymnasium.registry.items():
        try:
            sent[name] = cloudpickle.dumps(_findable(spec))
        except Exception as error:  # a user's objects may raise anything when they are pickled
            if name in needed:
                raise BadValueError(
                    f"task {needed[name]!r} cannot be sent to a worker process ({error}): register "
                    "it with an entry point and arguments that can be pickled, such as a class at "
                    "the top of a module"
                ) from error
    return sent


def _findable(spec: EnvSpec) -> EnvSpec:
    """Return a spec that another process can use, in which `__main__` is another module."""
    if not (isinstance(spec.entry_point, str) and spec.entry_point.startswith("__main__:")):
        return spec
    changed = copy.copy(spec)
    changed.entry_point = load_env_creator(spec.entry_point)  # type: ignore[assignment]
    return changed


def register_specs(sent: Mapping[str, bytes]) -> None:
    """Register the environments that `sendable_specs` returned in the process that started this."""
    # Importing the module that registered an environment there registers it here once more.
    warnings.filterwarnings("ignore", message=".*Overriding environment .* already in registry")
    for name, content in sent.items():
        try:
            gymnasium.registry[name] = cloudpickle.loads(content)
        except Exception as error:  # its module may raise anything here; nobody may need it
            gymnasium.registry.pop(name, None)  # Gymnasium's own of this id is not what was meant
            _unreadable[name] = (
                f"it is registered in the main process, but a worker process cannot read it "
                f"({type(error).__name__}: {error})"
            )
