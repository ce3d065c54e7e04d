"""Reset: a fresh network for each task, the old ones put aside.

Nothing is shared, so nothing is forgotten and nothing is transferred: each task is learnt as if
it were the only one. What a method that shares gains or loses in plasticity is measured from
here. Fresh networks need no resetting of a shared one: every task has its own from the start,
drawn by itself, and touches it only in its turn.
"""

from dataclasses import dataclass
from typing import ClassVar

from recall.errors import BadValueError
from recall.learn.method import Method, Sharing


@dataclass(frozen=True)
class Reset(Method):
    """Separate actors, critics and optimisers."""

    name: ClassVar[str] = "reset"
    label: ClassVar[str] = "Reset"
    summary: ClassVar[str] = "A fresh network for each task: no forgetting, no transfer."
    reference: ClassVar[str] = "Wolczyk et al., Continual World, 2021 (single tasks)"
    colour: ClassVar[str] = "#332288"

    actor_heads: Sharing = "separate"
    critic_heads: Sharing = "separate"

    def __post_init__(self) -> None:
        """Refuse values that no run could use."""
        super().__post_init__()
        if (self.actor_heads, self.critic_heads) != ("separate", "separate"):
            raise BadValueError(
                f"reset with {self.actor_heads!r} actor and {self.critic_heads!r} critic heads: "
                "fresh networks are 'separate' ones"
            )
