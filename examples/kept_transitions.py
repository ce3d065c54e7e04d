"""A method with a memory of its own: it rehearses a few transitions of every old task.

The last quarter of each batch comes from the method's state. Try it with

    recall train --plugin examples/kept_transitions.py --method kept_transitions --preset quick \
        --sequence point-slide,point-poor
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from recall.learn.agent import Agent, LearnerState
from recall.methods import Method, register_method
from recall.nets.arrays import Array
from recall.nets.heads import Heads, RowHeads
from recall.replay.batch import Batch, ReplayView
from recall.replay.buffer import Replay, sample_new
from recall.replay.n_step import Future


def transitions(batch: Batch) -> tuple[Array, ...]:
    """Return what is kept of a batch."""
    return batch.observation, batch.action, batch.reward, *batch.future


@register_method
@dataclass(frozen=True)
class KeptTransitions(Method):
    """Fine-tuning that rehearses a few transitions of every old task."""

    name: ClassVar[str] = "kept_transitions"
    label: ClassVar[str] = "Kept"

    kept: int = 100
    """Number of transitions kept of each task."""

    def init(self, agent: Agent, state: LearnerState) -> Any:
        """Return an empty memory, [task, kept, ...]."""
        obs, act = agent.columns.observation_size, agent.columns.action_size
        shapes = ((obs,), (act,), (), (), (), (obs,))
        return tuple(jnp.zeros((agent.tasks, self.kept, *shape)) for shape in shapes)

    def on_task_end(
        self,
        agent: Agent,
        state: LearnerState,
        task: Array,
        draw: Callable[[int, Array], Batch],
        key: Array,
    ) -> LearnerState:
        """Keep transitions of the task."""
        fields = transitions(draw(self.kept, key))
        memory = tuple(
            kept.at[task].set(field) for kept, field in zip(state.method_state, fields, strict=True)
        )
        return state._replace(method_state=memory)

    def heads(self, view: ReplayView, tasks: int, groups: int, turn: Array) -> Heads:
        """Return every task."""
        return np.arange(tasks)

    def sample(
        self,
        agent: Agent,
        method_state: Any,
        replay: Replay,
        view: ReplayView,
        heads: Heads,
        bits: Array,
    ) -> Batch:
        """Return a batch of the current task whose last quarter is of old tasks, if there are."""
        batch = sample_new(replay, view, agent.columns, agent.n_step, bits)
        size = len(bits)
        old = (jnp.arange(size) >= size - size // 4) & (view.task > 0)
        task = (bits // self.kept % jnp.maximum(view.task, 1)).astype(int)
        kept = [field[task, bits % self.kept] for field in method_state]
        observation, action, reward, *future = (
            jnp.where(old.reshape(-1, *(1,) * (mine.ndim - 1)), mine, field)
            for mine, field in zip(kept, transitions(batch), strict=True)
        )
        return batch._replace(
            observation=observation,
            action=action,
            reward=reward,
            future=Future(*future),
            heads=heads,
            layout=RowHeads(jnp.where(old, task, view.task)),
            new=1.0 - old,
        )
