"""The number of transitions that replay holds of each task."""


def rows_held(capacity: int, steps_per_task: int, memory_per_task: int | None) -> tuple[int, int]:
    """Return how many transitions a run holds of the current task, and of each old task.

    It never holds more than the `capacity` of replay or than a task has steps. `memory_per_task` of
    them are kept after a task: None keeps all, 0 keeps none.
    """
    current = min(capacity, steps_per_task)
    return current, current if memory_per_task is None else min(memory_per_task, current)
