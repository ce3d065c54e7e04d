"""Check that equal runs of a fleet stay equal, bit by bit, however it is compiled.

The smallest race between kernels, or a fault of a shared GPU, shows as a run that differs.
"""

import inspect
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from recall.bench.learner import Precision, made_up_replay, paper_sized_agent
from recall.learn import fleet
from recall.learn.agent import LearnerState
from recall.nets.arrays import Array

SCHEDULING = "xla_gpu_command_buffer_scheduling_mode"
_TASKS = 3


@jax.jit
def unequal_runs(state: LearnerState) -> Array:
    """Return which runs [run] differ from the first one in any bit of their state."""

    def differs(leaf: Array) -> Array:
        if jnp.issubdtype(leaf.dtype, jnp.floating):
            leaf = jax.lax.bitcast_convert_type(leaf, jnp.uint32)
        return jnp.any((leaf != leaf[:1]).reshape(leaf.shape[0], -1), axis=1)

    return jnp.any(jnp.stack([differs(leaf) for leaf in jax.tree.leaves(state)]), axis=0)


def train_replicas(
    runs: int, bursts: int, precision: Precision, mode: str, unroll: int
) -> dict[str, Any]:
    """Train equal runs of RECALL for so many bursts of 50 updates, and compare them after each."""
    agent = paper_sized_agent("recall", _TASKS, precision)
    one, view = made_up_replay(agent, 1)
    replay = jax.tree.map(lambda leaf: leaf.repeat(runs, axis=0), one)
    updates = agent.settings.updates_per_burst
    burst = jax.jit(
        partial(
            inspect.unwrap(fleet.burst),
            agent,
            groups=fleet.groups_of(agent, _TASKS - 1),
            updates=updates,
            unroll=unroll,
        ),
        donate_argnums=0,
        compiler_options=fleet.COMPILER_OPTIONS | {SCHEDULING: mode},
    )
    state = fleet.init(agent, jnp.zeros(runs, int))
    row = {"scheduling": mode, "unroll": unroll, "precision": precision}
    for number in range(bursts):
        state, _ = burst(state, replay, view, jnp.asarray(number * updates))
        unequal = int(unequal_runs(state).sum())
        failed = int((state.failed_at >= 0).sum())
        if unequal or failed:
            return row | {"updates": (number + 1) * updates, "unequal": unequal, "failed": failed}
    return row | {"updates": bursts * updates, "unequal": 0, "failed": 0}
