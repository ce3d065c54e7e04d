"""Continual World's tasks: readings, placement at a reset, rewards and success."""

from recall.worlds.continual_world.task import Task
from recall.worlds.continual_world.tasks.handles import HANDLES
from recall.worlds.continual_world.tasks.pucks import PUCKS
from recall.worlds.continual_world.tasks.tools import TOOLS

_TASKS = {task.name: task for task in (*PUCKS, *HANDLES, *TOOLS)}


def load_task(name: str) -> Task:
    """Return the declaration of a task."""
    return _TASKS[name]
