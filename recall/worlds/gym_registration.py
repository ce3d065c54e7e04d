"""Our tasks under Gymnasium's own names, so that `gymnasium.make` finds them.

Importing `recall` calls `register_all`. Nothing heavy is imported: Gymnasium loads the entry
points when it makes an environment.
"""

import gymnasium

from recall.worlds.registry import Task, tasks_of, world_names, world_of

# World to the part of the id in front of the slash.
_NAMESPACES = {"continual_world": "ContinualWorld", "pointworld": "PointWorld"}


def environment_id(task: Task) -> str | None:
    """The id under which Gymnasium knows a task of ours; None for Gymnasium's own."""
    namespace = _NAMESPACES.get(world_of(task))
    return f"{namespace}/{task}" if namespace else None


def register_all() -> None:
    """Make every registered task known to `gymnasium.make` and `gymnasium.make_vec`."""
    for world in world_names():
        for task in tasks_of(world):
            name = environment_id(task)
            if name is not None and name not in gymnasium.registry:
                gymnasium.register(
                    name,
                    entry_point="recall.worlds.env:TaskEnv",
                    vector_entry_point="recall.worlds.vector:make_vec",
                    kwargs={"task": task},
                )
