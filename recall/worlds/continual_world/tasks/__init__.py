"""One file per task: what it reads, how a reset places things, what it pays."""

from importlib import import_module

from recall.worlds.continual_world.tasks.task import Task


def load_task(name: str) -> Task:
    """The declaration in the file named after the task."""
    module = import_module(f"{__name__}.{name.replace('-', '_')}")
    task: Task = module.TASK
    return task
