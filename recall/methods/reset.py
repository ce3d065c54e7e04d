"""Reset: a fresh network for each task, while the networks of old tasks are kept unchanged.

Nothing is shared, so nothing is forgotten and nothing is transferred: each task is learned as if
it were the only one. This is the baseline for the plasticity that other methods gain or lose by
sharing. No network is actually reset: every task has its own network from the start, initialised
independently, and trains it only during its own stage.
"""

from dataclasses import dataclass
from typing import ClassVar

from recall.learn.method import Method, Needs, Sharing


@dataclass(frozen=True)
class Reset(Method):
    """Separate actors, critics and optimisers for each task."""

    name: ClassVar[str] = "reset"
    label: ClassVar[str] = "Reset"
    summary: ClassVar[str] = "A fresh network for each task: no forgetting, no transfer."
    reference: ClassVar[str] = "Wolczyk et al., Continual World, 2021 (single tasks)"
    colour: ClassVar[str] = "#1426d6"

    needs: ClassVar[Needs] = {
        "actor_heads": (("separate",), "it gives every task new networks"),
        "critic_heads": (("separate",), "it gives every task new networks"),
    }

    actor_heads: Sharing = "separate"
    critic_heads: Sharing = "separate"
