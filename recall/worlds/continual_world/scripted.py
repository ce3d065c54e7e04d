"""Meta-World's scripted policies: known good behaviour for images, films and tests."""

from importlib import import_module

import numpy as np

from recall.worlds.simulator import Array


class ScriptedPolicy:
    """Scripted policy for `full` observations; the first instance imports `metaworld`."""

    def __init__(self, task: str):
        camel = "".join(word.capitalize() for word in task.split("-"))
        self._policy = getattr(import_module("metaworld.policies"), f"Sawyer{camel}V3Policy")()

    def act(self, observation: Array, noise: Array | None = None) -> Array:
        """Return the clipped action; `noise` is ignored."""
        return np.clip(self._policy.get_action(observation), -1.0, 1.0)
