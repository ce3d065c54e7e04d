"""FAME: Reset & Distill whose learner starts from what was kept, where a test says that this helps.

The student is the meta learner, which knows all old tasks; the learner is the fast one. At the
start of a task random actions and the meta learner's old policies take turns. If the best of them
earned more than random actions by a t-test, the fast learner begins as the meta learner with that
policy; otherwise it begins anew.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import jax
import jax.numpy as jnp

from recall.learn.agent import Agent, LearnerState
from recall.learn.method import Needs
from recall.methods.reset_and_distill import STUDENT, ResetAndDistill
from recall.nets.arrays import Array, Params


@dataclass(frozen=True)
class Fame(ResetAndDistill):
    """A fast learner and a meta learner; a test decides from which a task starts."""

    name: ClassVar[str] = "fame"
    label: ClassVar[str] = "FAME"
    summary: ClassVar[str] = "Reset & Distill with a start from old policies if a test favours it."
    reference: ClassVar[str] = "Sun et al., Fast and Meta Knowledge Learners, 2026"
    colour: ClassVar[str] = "#600c00"
    needs: ClassVar[Needs] = ResetAndDistill.needs | {
        "best_return": ((True,), "a test decides how it starts")
    }

    best_return: bool = True
    copies: Literal["better_policy", "tested_policy", "best_head"] = "tested_policy"

    def on_copy(
        self, agent: Agent, state: LearnerState, source: Array, task: Array
    ) -> LearnerState:
        """Let the fast learner begin as the meta learner with the policy of head `source`."""
        if_copied = source >= 0

        def begun(actor: Params) -> Params:
            meta = actor[STUDENT]
            trunk = jnp.where(if_copied, meta["trunk"], actor["trunk"])
            heads = jax.tree.map(
                lambda kept, own: own.at[task].set(jnp.where(if_copied, kept[source], own[task])),
                meta["heads"],
                actor["heads"],
            )
            return actor | {"trunk": trunk, "heads": heads}

        old = state.trainable
        averaged = old.averaged and begun(old.averaged)
        return state._replace(trainable=old._replace(actor=begun(old.actor), averaged=averaged))
