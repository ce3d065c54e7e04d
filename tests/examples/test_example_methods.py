"""The methods in examples/: what they replace has the effect that their equations say."""

from math import erf

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import recall
from recall.cli import main
from recall.collect.transition import Columns
from recall.config.resolve import choose
from recall.errors import BadValueError
from recall.learn import fleet
from recall.learn.agent import Agent
from recall.methods import FineTuning, method_class
from recall.nets.heads import RowHeads
from recall.replay.batch import ReplayView
from recall.replay.buffer import Replay
from recall.runs.store import read
from recall.settings import Settings
from tests.plugins.restored import EXAMPLES, plugins_forgotten, small


@pytest.fixture(scope="module", autouse=True)
def loaded():
    with plugins_forgotten():
        for name in ("categorical_critic", "prioritised_replay", "weight_decay"):
            recall.load_plugin(EXAMPLES / f"{name}.py")
        yield


def agent_with(method) -> Agent:
    _, settings = choose("fine_tuning", Settings(), "quick", {"hidden": (8, 8)})
    return Agent(method, settings.learner, Columns(3, 2), 2)


@pytest.mark.parametrize("name", ["categorical", "prioritised"])
def test_they_train_and_are_evaluated(name, tmp_path):
    """Two tasks by the command, with finite losses to the end."""
    folder = tmp_path / "fleet"
    main(["train", "--method", name, "--sequence", "point-slide,point-poor", "--out", str(folder),
          *small(tmp_path)])  # fmt: skip
    results = read(folder)
    assert results.outcome.failed == {}
    losses = [each["loss_q"] for each in results.training if each.get("loss_q") is not None]
    assert len(losses) >= 2
    assert np.isfinite(losses).all()
    assert len(recall.evaluate(folder, 1, workers=1)) == 4


def test_a_categorical_critic_learns_the_value_of_its_targets():
    """The loss is lowest where the bins hold the masses of N(target, s²), whose mean is right."""
    method = method_class("categorical")(bins=20, lowest=-1.0, highest=3.0)
    targets = [-0.4, 0.0, 0.77, 2.5]
    edges, spread = np.linspace(-1.0, 3.0, 21), 0.75 * 0.2
    below = np.array([[erf((edge - t) / spread / 2**0.5) for edge in edges] for t in targets])
    masses = np.diff(below) / (below[:, -1:] - below[:, :1])
    best = jnp.log(jnp.array([masses, masses]) + 1e-12)
    weights = jnp.full(4, 0.25)
    none, one = jnp.zeros(4), jnp.ones(4)
    loss, slope = jax.value_and_grad(method.q_loss)(best, jnp.array(targets), none, one, weights)
    np.testing.assert_allclose(slope, 0.0, atol=1e-6)
    entropy = -np.sum(masses * np.log(masses + 1e-12), axis=1).mean()
    np.testing.assert_allclose(loss, 2 * entropy, rtol=1e-4)  # the sum over two critics
    np.testing.assert_allclose(method.values(best), [targets] * 2, atol=2e-3)


def test_prioritised_rows_come_as_often_as_their_errors_say():
    """Of three rows with errors 1, 2 and 5, and power 1, the shares are 1/8, 2/8 and 5/8."""
    method = method_class("prioritised")(slots=4, power=1.0, correction=1.0)
    agent = agent_with(method)
    state = method.init(agent, None)
    rows = jnp.arange(4.0)[:, None] * jnp.ones((4, agent.columns.width))
    replay = Replay(rows, jnp.zeros((0, 0, 0)))
    counts = jnp.asarray([3, 0])
    view = ReplayView(jnp.asarray(0), jnp.asarray(3), 0 * counts, counts, jnp.asarray(1))
    state = state._replace(error=jnp.array([1.0, 2.0, 5.0, 9.0]))
    bits = jax.random.bits(jax.random.PRNGKey(0), (40_000,))
    heads = method.heads(view, 2, 0, jnp.asarray(0))
    batch = method.sample(agent, state, replay, view, heads, bits)
    slots = np.asarray(batch.notes["slot"])
    shares = np.bincount(slots, minlength=4) / len(slots)
    np.testing.assert_allclose(shares, [1 / 8, 2 / 8, 5 / 8, 0.0], atol=0.01)
    np.testing.assert_array_equal(batch.observation[:, 0], slots)
    # Fully corrected, every row of replay counts the same in expectation.
    weights = np.asarray(method.row_weights(batch, jnp.asarray(0)))
    sums = [weights[slots == slot].sum() for slot in range(3)]
    np.testing.assert_allclose(sums, 1 / 3, atol=0.01)
    q, target = jnp.full((2, len(slots)), 4.0), jnp.full(len(slots), 1.0)
    after = method.on_update(agent, state, batch, q, target)
    np.testing.assert_allclose(after.error, [3.001, 3.001, 3.001, 9.0], rtol=1e-5)
    assert after.largest == pytest.approx(3.001)
    with pytest.raises(BadValueError, match="below replay_capacity"):
        method_class("prioritised")(slots=2).sample(agent, state, replay, view, heads, bits)


def test_weight_decay_adds_its_penalty():
    actor = {"trunk": jnp.array([1.0, -2.0, 3.0])}
    method = method_class("weight_decay")(decay=0.5)
    loss, metrics = method.extra_actor_loss(None, (), actor, None, None)
    assert float(loss) == 7.0
    assert float(metrics["loss_decay"]) == 14.0


def test_an_ensemble_of_critics_is_a_property():
    """Five critics have five trunks and values; their smallest value makes the target."""

    class Five(FineTuning):
        @property
        def critics(self):
            return 5

    agent = agent_with(Five())
    state = fleet.init(agent, jnp.array([0]))
    critic = jax.tree.map(lambda leaf: leaf[0], state.trainable.critic)
    assert critic["trunk"].shape[0] == 5
    rows = RowHeads(jnp.zeros(6, jnp.int32))
    q = agent.q(critic, jnp.ones((6, 3)), jnp.ones((6, 2)), rows)
    assert q.shape == (5, 6)
    assert len(np.unique(np.asarray(q[:, 0]))) == 5
    with pytest.raises(BadValueError, match="memory_per_task"):
        Five(memory_per_task=None)


def test_bad_settings_of_the_examples_are_refused():
    for name, wrong in (
        ("categorical", {"bins": 1}),
        ("categorical", {"normalise_targets": True}),
        ("prioritised", {"power": -1.0}),
        ("weight_decay", {"decay": -1.0}),
    ):
        with pytest.raises(BadValueError):
            method_class(name)(**wrong)
