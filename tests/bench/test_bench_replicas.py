"""The comparison of equal runs: it sees a single bit, and real bursts pass it."""

import jax.numpy as jnp
import numpy as np
import pytest

from recall.bench.learner import paper_sized_agent
from recall.bench.replicas import train_replicas, unequal_runs
from recall.learn import fleet


def test_one_bit_of_one_run_is_seen_and_equal_nans_are_not():
    state = fleet.init(paper_sized_agent("recall", 2, "default"), jnp.zeros(3, int))
    assert not unequal_runs(state).any()
    actor = state.trainable.actor["trunk"]
    bits = np.asarray(actor).view(np.uint32).copy()
    bits[1, 5] ^= 1

    def with_actor(trunk):
        changed = state.trainable.actor | {"trunk": trunk}
        return state._replace(trainable=state.trainable._replace(actor=changed))

    assert unequal_runs(with_actor(jnp.asarray(bits.view(np.float32)))).tolist() == [0, 1, 0]
    assert not unequal_runs(with_actor(actor.at[:, 7].set(jnp.nan))).any()


@pytest.mark.slow
@pytest.mark.parametrize("unroll", [1, 2])
def test_equal_runs_stay_equal(unroll):
    mode = "LHS" if unroll == 1 else "CONCURRENT"
    row = train_replicas(runs=2, bursts=1, precision="bfloat16", mode=mode, unroll=unroll)
    assert (row["updates"], row["unequal"], row["failed"]) == (50, 0, 0)
