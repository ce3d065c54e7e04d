"""Bursts that take heads apart against single updates on whole arrays."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.learn import fleet, turns
from recall.learn.sac import update, update_noise
from recall.methods import AGem, PerfectMemory, Recall
from recall.nets.heads import OldAndNew, RowHeads
from tests.factories.learners import (
    TASKS,
    leaves_equal,
    make_agent,
    make_replay,
    make_view,
    one,
    run_burst,
)

SMALL = {"batch_size": 8, "old_batch_size": 8}
# Two old tasks, always both; three old tasks, two in turn.
ALWAYS, IN_TURN = (2, 4), (3, 2)


def trained_state(agent):
    """A first state whose heads count as trained, with moments that are not 0."""
    state = fleet.init(agent, jnp.array([0]))
    trainable = state.trainable
    seen = trainable.popart["heads"]._replace(updates=jnp.ones((1, TASKS)))
    critic, moments = trainable.critic, trainable.critic_moments
    moments = moments._replace(
        first=jax.tree.map(lambda leaf: 0.01 * leaf, critic),
        second=jax.tree.map(lambda leaf: 0.01 * leaf**2, critic),
    )
    return state._replace(
        trainable=trainable._replace(popart={"heads": seen}, critic_moments=moments)
    )


@partial(jax.jit, static_argnames=("agent", "groups"))
def single_update(agent, groups, state, replay, view, number):
    noise = update_noise(agent, groups, state.key, number)
    turn = number // agent.settings.updates_per_turn
    heads = agent.method.heads(view, agent.tasks, groups, turn)
    part = turns.take(state, heads, groups)
    return turns.put(state, update(agent, part, replay, view, heads, number, noise)[0], heads)


def single_updates(agent, state, replay, task, updates):
    """The state of one run after updates one by one, on whole arrays."""
    groups, view = fleet.groups_of(agent, task), jax.tree.map(jnp.asarray, make_view(task))
    with jax.default_matmul_precision("float32"):
        for number in range(updates):
            state = single_update(agent, groups, state, replay, view, jnp.asarray(number))
    return state


FIRST, CHOSEN = np.arange(3), jnp.array([3, 0, 2])


@pytest.mark.parametrize("groups", [0, 2])
@pytest.mark.parametrize("heads", [FIRST, CHOSEN, np.arange(TASKS)])
def test_heads_come_back_to_their_own_places(heads, groups):
    state = one(fleet.init(make_agent(), jnp.array([0])))

    @jax.jit  # one program instead of one for each operation
    def moved_by(state, step):
        part = turns.take(state, heads, groups)
        moved = jax.tree.map(lambda leaf: leaf + step, part.trainable)
        return turns.put(state, part._replace(trainable=moved), heads)

    assert leaves_equal(moved_by(state, 0), state)
    after = moved_by(state, 1).trainable
    expected = np.zeros(TASKS)
    expected[heads] = 1.0
    for name in ("actor_moments", "critic_moments"):
        before, now = (getattr(each, name).steps["heads"] for each in (state.trainable, after))
        np.testing.assert_array_equal(now - before, expected)


@pytest.mark.parametrize("heads", [FIRST, CHOSEN])
def test_heads_of_old_tasks_are_apart_in_the_order_of_the_batch(heads):
    state = one(fleet.init(make_agent(), jnp.array([0])))
    critic = turns.take(state, heads, 2).trainable.critic["heads"]
    assert isinstance(critic, OldAndNew)
    kernel = state.trainable.critic["heads"]["out"]["kernel"]
    np.testing.assert_array_equal(critic.old["out"]["kernel"], kernel[heads[:-1]])
    np.testing.assert_array_equal(critic.new["out"]["kernel"], kernel[heads[-1:]])


@pytest.mark.parametrize(
    ("kind", "task", "most"),
    [
        (Recall, *ALWAYS),
        pytest.param(AGem, *IN_TURN, marks=pytest.mark.slow),
        pytest.param(PerfectMemory, *IN_TURN, marks=pytest.mark.slow),
    ],
)
def test_a_burst_equals_single_updates_on_whole_arrays(kind, task, most):
    agent = make_agent(kind(**SMALL, max_old_tasks=most))
    state, replay = trained_state(agent), make_replay(1)
    updates = 2 * agent.settings.updates_per_turn
    expected = single_updates(agent, one(state), one(replay), task, updates)
    state, _ = run_burst(agent, state, replay, task, updates)
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-6), one(state), expected)


@pytest.mark.slow
@pytest.mark.parametrize("unroll", [1, 2])
def test_turns_are_the_same_for_several_runs_and_several_updates_in_a_round(unroll):
    task, most = IN_TURN
    agent = make_agent(Recall(**SMALL, max_old_tasks=most))
    state, replay = fleet.init(agent, jnp.array([0, 1])), make_replay(2)
    updates = 2 * agent.settings.updates_per_turn
    runs = [jax.tree.map(lambda leaf, n=n: leaf[n], (state, replay)) for n in range(2)]
    expected = [single_updates(agent, *run, task, updates) for run in runs]
    state, _ = run_burst(agent, state, replay, task, updates, unroll=unroll)
    for n in range(2):
        run = jax.tree.map(lambda leaf, n=n: leaf[n], state)
        jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-6), run, expected[n])


def test_metrics_of_a_task_are_means_over_the_updates_that_it_took_part_in():
    """Tasks 1 and 2 each miss one of the two turns, which must not cost them their metrics."""
    task, most = IN_TURN
    agent = make_agent(Recall(**SMALL, max_old_tasks=most))
    updates = 2 * agent.settings.updates_per_turn
    _, metrics = run_burst(agent, trained_state(agent), make_replay(1), task, updates)
    for name in ("q_value", "entropy"):
        assert np.isfinite(metrics[name][0]).all(), name


def test_a_burst_that_would_end_within_a_turn_is_refused():
    task, most = IN_TURN
    agent = make_agent(Recall(**SMALL, max_old_tasks=most))
    with pytest.raises(ValueError, match="a burst of 4 updates does not consist of turns of 3"):
        run_burst(agent, trained_state(agent), make_replay(1), task, updates=4)


def test_the_heads_of_a_turn_are_the_same_in_all_of_its_updates():
    task, most = IN_TURN
    method, view = Recall(**SMALL, max_old_tasks=most), make_view(task)
    heads = [method.heads(view, TASKS, most, jnp.asarray(turn)).tolist() for turn in range(3)]
    assert heads == [[0, 1, 3], [2, 0, 3], [1, 2, 3]]


@dataclass(frozen=True)
class OwnRows(Recall):
    """A method whose sampling gives the head of every row, in any order."""

    def sample(self, agent, method_state, replay, view, heads, bits):
        batch = super().sample(agent, method_state, replay, view, heads, bits)
        return batch._replace(layout=RowHeads(batch.layout.head_of_row))


@pytest.mark.slow
def test_sampling_of_ones_own_changes_no_schedule():
    """The same rows without a static layout are trained on as with it, but for the clipping."""
    task, most = IN_TURN
    after = []
    for kind in (Recall, OwnRows):
        agent = make_agent(kind(**SMALL, max_old_tasks=most, clip_norm=None))
        updates = 2 * agent.settings.updates_per_turn
        state, _ = run_burst(agent, trained_state(agent), make_replay(1), task, updates)
        after.append(state)
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-3, atol=1e-5), *after)
