"""The example of a method with rows of its own does what it says."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import recall
from recall.collect.transition import Columns
from recall.config.resolve import choose
from recall.learn.agent import Agent
from recall.learn.sac import update, update_noise
from recall.methods import method_class
from recall.replay.batch import ReplayView
from recall.replay.buffer import Replay
from recall.settings import Settings
from tests.plugins.restored import EXAMPLES, plugins_forgotten

SLOTS, KEPT, TASKS = 8, 4, 3


@pytest.fixture(scope="module")
def agent():
    with plugins_forgotten():
        recall.load_plugin(EXAMPLES / "kept_transitions.py")
        method = method_class("kept_transitions")(kept=KEPT, batch_size=16)
    _, settings = choose("fine_tuning", Settings(), "quick", {"hidden": (8, 8)})
    return Agent(method, settings.learner, Columns(3, 2), TASKS)


def drawn(agent, task):
    """Return a batch of the task: replay's observations are 9, the kept ones of task t are t.

    The other kept numbers are t + 1, so that there is something to learn from each.
    """
    replay = Replay(jnp.full((SLOTS, agent.columns.width), 9.0), jnp.zeros((0, 0, 0)))
    none, full = jnp.zeros(TASKS, jnp.int32), jnp.full(TASKS, SLOTS)
    view = ReplayView(jnp.asarray(task), jnp.asarray(SLOTS), none, full, jnp.asarray(1))
    state = agent.init(jnp.asarray(0))
    number = jnp.arange(float(TASKS))
    observation, *others = (
        jnp.broadcast_to(number.reshape(-1, *(1,) * (leaf.ndim - 1)), leaf.shape)
        for leaf in state.method_state
    )
    memory = (observation, *(1.0 + other for other in others))
    state = state._replace(method_state=memory)
    noise = update_noise(agent, 0, state.key, jnp.asarray(0))
    heads = agent.method.heads(view, TASKS, 0, jnp.asarray(0))
    batch = agent.method.sample(agent, memory, replay, view, heads, noise.rows)
    return batch, state, replay, view, noise


@pytest.mark.slow
def test_the_last_quarter_of_a_batch_is_of_old_tasks(agent):
    batch, *_ = drawn(agent, 2)
    head = np.asarray(batch.layout.head_of_row)
    np.testing.assert_array_equal(batch.new, [1] * 12 + [0] * 4)
    assert set(head[:12]) == {2}
    assert set(head[12:]) <= {0, 1}
    np.testing.assert_array_equal(batch.observation[:12], 9.0)
    np.testing.assert_array_equal(batch.observation[12:, 0], head[12:])
    weights = agent.method.row_weights(batch, jnp.asarray(2))
    assert float(jnp.sum(weights)) == pytest.approx(1.0)


def test_the_first_task_has_no_old_rows(agent):
    batch, *_ = drawn(agent, 0)
    assert set(np.asarray(batch.layout.head_of_row)) == {0}
    np.testing.assert_array_equal(batch.new, 1)
    np.testing.assert_array_equal(batch.observation, 9.0)


@pytest.mark.slow
def test_an_update_changes_the_heads_with_rows_and_the_current_temperature_alone(agent):
    batch, state, replay, view, noise = drawn(agent, 1)
    after, _ = update(agent, state, replay, view, batch.heads, jnp.asarray(0), noise)

    def moved(before, now):
        change = jax.tree.map(
            lambda a, b: np.abs(np.asarray(a - b)).reshape(TASKS, -1).max(axis=1), before, now
        )
        return (np.max(jax.tree.leaves(change), axis=0) > 0).tolist()

    one, two = state.trainable, after.trainable
    assert moved(one.actor["heads"], two.actor["heads"]) == [True, True, False]
    assert moved(one.critic["heads"], two.critic["heads"]) == [True, True, False]
    assert moved(one.log_alpha["heads"], two.log_alpha["heads"]) == [False, True, False]
