"""Tasks that are functions, which no file can hold: given again, by the fleet's names for them."""

import functools
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from recall.errors import BadValueError
from recall.worlds.registry import Task, refuse_instance, task_label


def given_functions(names: Collection[str], functions: Any) -> dict[str, Task]:
    """Return the tasks in the argument `functions`, with the fleet's names for them.

    `names` are those of the fleet's tasks that are functions. All of them must be given.
    """
    given = _by_name(names, functions)
    missing = [name for name in names if name not in given]
    if missing:
        raise BadValueError(
            f"its tasks are Python functions ({', '.join(missing)}), which cannot be stored in a "
            "file. Give them from Python: recall.resume, recall.evaluate and recall.film take "
            f"{functions_argument(missing)}"
        )
    for name, task in given.items():
        _check(name, task, names)
    return {name: _called(name, task) for name, task in given.items()}


def functions_argument(names: Iterable[str]) -> str:
    """Return the argument that hands tasks that are functions to recall.resume and others."""
    return f"functions={{{', '.join(f'{name!r}: {name}' for name in names)}}}"


def _by_name(names: Iterable[str], functions: Any) -> Mapping[str, Any]:
    if functions is None:
        return {}
    if not isinstance(functions, Mapping):
        raise BadValueError(
            f"functions is {functions!r}: give a dict from the names of tasks to their functions, "
            f"here {functions_argument(names)}"
        )
    return functions


def _check(name: str, task: Any, names: Collection[str]) -> None:
    """Refuse what makes no environment, and the function of another task of the fleet."""
    refuse_instance(task)
    if not (isinstance(task, str) or callable(task)):
        raise BadValueError(
            f"functions[{name!r}] is {task!r}: give the function that makes the environment of "
            f"task {name}"
        )
    own = task_label(task)
    if own != name and own in names:
        raise BadValueError(
            f"functions[{name!r}] is {own}, the name of another task of the fleet: give "
            f"{functions_argument((name, own))}, or a function with a name of its own"
        )


def _called(name: str, task: Task) -> Task:
    """Return a task under the fleet's name for it, which records and films show.

    The function given now may have another name, such as that of one that makes pictures too.
    """
    if isinstance(task, str) or task_label(task) == name:
        return task
    renamed = functools.partial(task)
    renamed.__name__ = name  # type: ignore[attr-defined]
    return renamed
