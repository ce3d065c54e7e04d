"""What is kept of old tasks, and networks that are not shared."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.learn import fleet
from recall.nets.gaussian import Gaussian
from recall.replay import buffer
from recall.replay.batch import ReplayView, Stored
from recall.replay.n_step import NStep
from tests.factories.learners import flat
from tests.factories.method_fleets import (
    CAPACITY,
    COLUMNS,
    MEMORY,
    TASKS,
    SmallFleet,
    agent_of,
    leaves,
    small,
)


def kept_slots(filled: int, memory: int, keys: int) -> np.ndarray:
    """[keys, memory] which slots stay when a task ends, told by a number written in each row."""
    numbers = jnp.arange(CAPACITY, dtype=jnp.float32)[:, None]
    new = jnp.broadcast_to(numbers, (CAPACITY, COLUMNS.width))
    old = jnp.zeros((1, memory, COLUMNS.old_width))
    counts = np.array([filled] + [0] * (TASKS - 1), np.int32)
    view = ReplayView(*map(jnp.asarray, (0, filled, 0 * counts, counts, 1)))

    def networks(observation, action):
        return Stored(Gaussian(jnp.zeros_like(action), jnp.zeros_like(action)), jnp.zeros((2, 1)))

    def one(key):
        after = buffer.archive(
            buffer.Replay(new, old), view, networks, COLUMNS, NStep(1, 0.99), key
        )
        return after.old[0, :, 0]

    found = jax.jit(jax.vmap(one))(jax.random.split(jax.random.PRNGKey(0), keys))
    return np.asarray(found).astype(int)


@pytest.mark.parametrize("filled", [CAPACITY, 20])
def test_a_reservoir_is_a_uniform_sample_without_duplicates(filled):
    draws = 4000
    slots = kept_slots(filled, MEMORY, draws)
    assert all(len(set(row)) == MEMORY for row in slots)
    assert slots.max() < filled
    counts = np.bincount(slots.ravel(), minlength=filled)
    share = MEMORY / filled
    deviation = np.sqrt(draws * share * (1 - share))
    assert np.abs(counts - draws * share).max() < 5 * deviation


def test_a_memory_for_all_keeps_all_in_order():
    np.testing.assert_array_equal(kept_slots(CAPACITY, CAPACITY, 1)[0], np.arange(CAPACITY))


def test_reservoir_recall_keeps_its_share():
    run = SmallFleet(small("recall", memory_per_task=MEMORY))
    run.pass_by()
    kept, rows = np.asarray(run.replay.old[0, 0]), np.asarray(run.replay.new[0])
    own = COLUMNS.width - COLUMNS.observation_size  # all but where the n-step return ends
    found = {tuple(row[:own]) for row in rows}
    assert all(tuple(row[:own]) in found for row in kept)
    assert len({tuple(row) for row in kept}) == MEMORY


def test_every_task_draws_its_own_rows_to_keep():
    run = SmallFleet(small("recall", memory_per_task=MEMORY))
    run.start()
    kept, view = run.replay, run.view()
    for task in (0, 1):  # both end with the same transitions
        kept = fleet.archive(run.agent, run.state, kept, view._replace(task=jnp.asarray(task)))
    one, other = np.asarray(kept.old[0, :, :, : COLUMNS.width])
    assert {tuple(row) for row in one} != {tuple(row) for row in other}


def test_reset_gives_each_task_a_network_that_no_other_task_touches():
    run = SmallFleet(small("reset"))
    heads = [flat(run.state.trainable.actor["heads"], 2)]
    for _ in range(TASKS):
        run.train()
        heads.append(flat(run.state.trainable.actor["heads"], 2))
    assert run.state.trainable.actor["trunk"].size == 0
    for after, (before, now) in enumerate(pairwise(heads)):
        for task in range(TASKS):
            same = np.array_equal(before[:, task], now[:, task])
            assert same == (task != after)
    assert not np.array_equal(heads[0][:, 0], heads[0][:, 1]), "each is drawn by itself"


@pytest.mark.parametrize("shared", ["actor", "critic"])
def test_perfect_memory_with_one_network_shared(shared):
    own = {"critic_heads" if shared == "actor" else "actor_heads": "separate"}
    state = jax.eval_shape(agent_of(small("perfect_memory", **own)).init, 0)
    for name in ("actor", "critic"):
        assert (getattr(state.trainable, name)["trunk"].size > 0) == (name == shared)


@pytest.mark.parametrize("resets", [True, False])
def test_moments_are_forgotten_when_a_task_starts(resets):
    run = SmallFleet(small("fine_tuning", reset_optimiser=resets))
    old = run.state.trainable
    names = ("actor_moments", "critic_moments", "alpha_moments")
    ones = {name: jax.tree.map(jnp.ones_like, getattr(old, name)) for name in names}
    run.state = run.state._replace(trainable=old._replace(**ones))
    run.start()
    for name in names:
        for leaf in leaves(getattr(run.state.trainable, name)):
            assert leaf.all() == (not resets), name
            assert leaf.any() == (not resets), name
