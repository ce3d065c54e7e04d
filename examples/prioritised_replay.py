"""A method that replaces the sampling of replay: transitions with large errors come more often.

    P(i) ∝ (|δ_i| + ε)^power,      w_i ∝ P(i)^-correction

A row's error δ is noted when it is sampled; rows that were never sampled have the largest error so
far (Schaul and others, Prioritized Experience Replay, 2016). When replay is full and a row is
overwritten, the new row keeps the old one's priority until it is sampled. Try it with

    recall train --plugin examples/prioritised_replay.py --method prioritised --preset quick \
        --sequence point-slide,point-poor --replay-capacity 10000 --slots 10000
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp

from recall.errors import BadValueError
from recall.learn.agent import Agent, LearnerState
from recall.methods import Method, register_method
from recall.nets.arrays import Array
from recall.nets.heads import Heads
from recall.replay import buffer
from recall.replay.batch import Batch, ReplayView
from recall.replay.buffer import Replay

EPSILON = 1e-3


class Priorities(NamedTuple):
    """The method's state: the error of every slot of replay (0: not sampled yet)."""

    error: Array  # [slots]
    largest: Array


@register_method
@dataclass(frozen=True)
class Prioritised(Method):
    """Fine-tuning with prioritised replay."""

    name: ClassVar[str] = "prioritised"
    label: ClassVar[str] = "Prioritised"
    summary: ClassVar[str] = "Samples transitions in proportion to their errors."
    reference: ClassVar[str] = "Schaul and others, Prioritized Experience Replay, 2016"
    colour: ClassVar[str] = "#aa4499"

    slots: int = 1_000_000
    """Number of priorities, at least replay_capacity."""
    power: float = 0.6
    """Exponent of the priorities; 0 samples uniformly."""
    correction: float = 0.4
    """Exponent with which rows that are sampled often count less."""

    def __post_init__(self) -> None:
        """Refuse values that no run could use."""
        super().__post_init__()
        if self.slots < 1 or self.power < 0 or self.correction < 0:
            raise BadValueError(
                f"slots {self.slots}, power {self.power} and correction {self.correction}: at "
                "least 1, 0 and 0 are needed"
            )

    def init(self, agent: Agent, state: LearnerState) -> Any:
        """Return priorities of an empty replay."""
        return Priorities(jnp.zeros(self.slots), jnp.asarray(1.0))

    def sample(
        self,
        agent: Agent,
        method_state: Any,
        replay: Replay,
        view: ReplayView,
        heads: Heads,
        bits: Array,
    ) -> Batch:
        """Return a batch of the current task, drawn in proportion to the priorities."""
        capacity = replay.new.shape[0]
        if capacity > self.slots:
            raise BadValueError(f"slots {self.slots} is below replay_capacity {capacity}")
        error = method_state.error[:capacity]
        error = jnp.where(error > 0, error, method_state.largest)
        filled = jnp.arange(capacity) < view.new_size
        chance = jnp.where(filled, (error + EPSILON) ** self.power, 0.0)
        ends = jnp.cumsum(chance)
        points = bits.astype(jnp.float32) / 2.0**32 * ends[-1]
        slot = jnp.minimum(jnp.searchsorted(ends, points, side="right"), view.new_size - 1)
        batch = buffer.sample_new(
            replay, view, agent.columns, agent.n_step, slot.astype(jnp.uint32)
        )
        weight = (chance[slot] / ends[-1] * view.new_size) ** -self.correction
        return batch._replace(notes={"slot": slot, "weight": weight})

    def row_weights(self, batch: Batch, old_tasks: Array) -> Array:
        """Return weights that undo a part of the preference."""
        return batch.notes["weight"] / jnp.sum(batch.notes["weight"])

    def on_update(
        self, agent: Agent, method_state: Any, batch: Batch, q: Array, target: Array
    ) -> Any:
        """Note the errors of the rows that were sampled."""
        error = jnp.mean(jnp.abs(q - target), axis=0) + EPSILON
        slot = batch.notes["slot"]
        largest = jnp.maximum(method_state.largest, jnp.max(error))
        return Priorities(method_state.error.at[slot].set(error), largest)

    def on_task_end(
        self,
        agent: Agent,
        state: LearnerState,
        task: Array,
        draw: Callable[[int, Array], Batch],
        key: Array,
    ) -> LearnerState:
        """Forget the priorities: the next task starts with an empty replay."""
        return state._replace(method_state=self.init(agent, state))
