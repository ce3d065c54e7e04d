"""Names of the tasks of a sequence, in which a task may occur more than once.

A task that occurs once is shown by its name. One that occurs more than once is shown with its
number in the sequence, from 1 on: cw3-6 is `1 stick-pull`, `peg-unplug-side` and `3 stick-pull`.
"""

from collections.abc import Collection, Iterable, Sequence

TaskName = str | int
"""How a task is named: see `positions_of`."""


def numbered(tasks: Sequence[str]) -> list[str]:
    """Return the names of a sequence's tasks as they are shown."""
    return [
        name if tasks.count(name) == 1 else _with_number(position, name)
        for position, name in enumerate(tasks)
    ]


def positions_of(task: TaskName, tasks: Sequence[str]) -> list[int]:
    """Return the positions, from 0 on, of the task that `task` names; none if there is no such.

    `task` is a name, which means every place of that task; a number and a name, such as
    `3 stick-pull`, also of a task that occurs once; or a position, as a number or a text.
    """
    return [
        position
        for position, name in enumerate(tasks)
        if task in (name, _with_number(position, name), position, str(position))
    ]


def chosen_positions(chosen: Collection[TaskName] | None, tasks: Sequence[str]) -> list[int]:
    """Return the positions of all tasks that are chosen, in order; None chooses every task."""
    if chosen is None:
        return list(range(len(tasks)))
    return sorted({position for task in chosen for position in positions_of(task, tasks)})


def as_tasks(tasks: TaskName | Iterable[TaskName] | None) -> tuple[TaskName, ...] | None:
    """Return the tasks that an argument names, whether it is one or several."""
    if tasks is None:
        return None
    if isinstance(tasks, str) or not isinstance(tasks, Iterable):
        tasks = (tasks,)
    return tuple(tasks)


def _with_number(position: int, name: str) -> str:
    return f"{position + 1} {name}"
