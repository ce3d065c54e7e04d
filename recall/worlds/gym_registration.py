"""Registration of this package's tasks with Gymnasium, so that `gymnasium.make` finds them.

Importing `recall` calls `register_all`. This imports nothing heavy: Gymnasium loads the entry
points when it makes an environment.
"""

import gymnasium

from recall.worlds.registry import Task, tasks_of, world_horizon_steps, world_of

# Maps a world to its namespace, the part of the id before the slash.
_NAMESPACES = {"continual_world": "ContinualWorld", "pointworld": "PointWorld"}


def environment_id(task: Task) -> str | None:
    """Return the Gymnasium id of a task of this package, or None for Gymnasium's own tasks."""
    namespace = _NAMESPACES.get(world_of(task))
    return f"{namespace}/{task}" if namespace else None


def register_all() -> None:
    """Register our tasks with Gymnasium, for `gymnasium.make` and `gymnasium.make_vec`.

    Plug-ins are not asked for theirs: that would import all of them.
    """
    for world in _NAMESPACES:
        horizon = world_horizon_steps(world)
        for task in tasks_of(world):
            name = f"{_NAMESPACES[world]}/{task}"
            if name not in gymnasium.registry:
                gymnasium.register(
                    name,
                    entry_point="recall.worlds.env:registered_env",
                    vector_entry_point="recall.worlds.vector:make_vec",
                    kwargs={"task": task},
                    max_episode_steps=horizon,
                )
