"""Meta-World's hand-written policies: known good behaviour for pictures, films and tests."""

from importlib import import_module

import numpy as np

from recall.worlds.simulator import Array


class ScriptedPolicy:
    """Acts from full observations; `metaworld`'s Python is imported with the first one."""

    def __init__(self, task: str):
        camel = "".join(word.capitalize() for word in task.split("-"))
        self._policy = getattr(import_module("metaworld.policies"), f"Sawyer{camel}V3Policy")()

    def act(self, observation: Array, noise: Array | None = None) -> Array:
        """The action, clipped; there is no noise in it."""
        return np.clip(self._policy.get_action(observation), -1.0, 1.0)
