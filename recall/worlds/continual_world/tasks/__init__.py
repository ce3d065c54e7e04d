"""Continual World's tasks, one file each: readings, placement at a reset, rewards and success."""

from importlib import import_module

from recall.worlds.continual_world.tasks.task import Task


def load_task(name: str) -> Task:
    """Return the task declared in the file that is named after it."""
    module = import_module(f"{__name__}.{name.replace('-', '_')}")
    return module.TASK
