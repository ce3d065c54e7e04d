"""ClonEx, CLEAR and RECALL: what old rows do to the losses, and what they do not."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.errors import BadValueError
from recall.learn import fleet
from recall.methods import METHODS, Clear, ClonEx, FineTuning, Method, Recall
from recall.methods._cloning import mean_of_old
from recall.nets.gaussian import Gaussian, kl
from recall.nets.heads import BatchLayout, take_heads
from recall.replay import buffer
from recall.replay.batch import Stored
from tests.factories.learners import flat
from tests.factories.method_fleets import (
    COLUMNS,
    SmallFleet,
    agent_of,
    gradients,
    small,
)

NEW = OLD = 8
KEY = jax.random.PRNGKey(5)


def second_task(method: Method) -> SmallFleet:
    run = SmallFleet(method)
    run.pass_by()
    run.start()
    return run


def halves(run: SmallFleet):
    state, replay = run.one_run()
    bits = jax.random.bits(KEY, (NEW + OLD,))
    batch = buffer.sample_balanced(
        replay, run.view(), COLUMNS, run.agent.n_step, NEW, np.arange(2), bits
    )
    return state, batch


def test_clonex_without_cloning_is_fine_tuning():
    """Gradients of the same rows, with the same noise: the old half's rows count for nothing."""
    clonex = second_task(small("clonex", weight=0.0, best_return=False))
    state, batch = halves(clonex)
    weights = clonex.method.row_weights(batch, jnp.asarray(1))
    cloned, _ = gradients(clonex.agent, state, batch, weights, KEY)
    plain = agent_of(small(FineTuning, clip_norm=0.1))
    alone = batch._replace(layout=BatchLayout(NEW + OLD), heads=np.arange(1))
    # Fine-tuning sees the current head only: put it in the first place.
    current = take_heads(state.trainable, jnp.array([1]))
    tuned, _ = gradients(plain, state._replace(trainable=current), alone, weights, KEY)
    for name in ("actor", "critic"):
        ours, theirs = getattr(cloned, name), getattr(tuned, name)
        np.testing.assert_allclose(ours["trunk"], theirs["trunk"], rtol=1e-4, atol=1e-6)
        heads, only_head = flat(ours["heads"]), flat(theirs["heads"])[0]
        np.testing.assert_allclose(heads[1], only_head, rtol=1e-4, atol=1e-6)
        assert not np.any(heads[0]), "old heads feel nothing"
    np.testing.assert_allclose(cloned.log_alpha["heads"][1], tuned.log_alpha["heads"][0], rtol=1e-5)


@pytest.mark.parametrize(("name", "reduce"), [("clonex", jnp.mean), ("clear", jnp.sum)])
def test_the_divergence_of_policies_is_the_papers_kl(name, reduce):
    rng = np.random.default_rng(0)
    new, old = (Gaussian(*jnp.asarray(rng.normal(size=(2, 5, 3)))) for _ in range(2))
    found = small(name).policy_divergence(new, old)
    expected = kl(new, old) if name == "clonex" else kl(old, new)
    np.testing.assert_allclose(found, reduce(expected, axis=-1), rtol=1e-6)


def test_a_mean_over_old_rows_leaves_new_rows_out():
    run_batch = type("B", (), {"new": jnp.array([1.0, 1.0, 0.0, 0.0])})()
    assert mean_of_old(run_batch, jnp.array([jnp.nan, jnp.inf, 2.0, 4.0])) == 3.0
    none_old = type("B", (), {"new": jnp.ones(2)})()
    assert mean_of_old(none_old, jnp.array([1.0, 1.0])) == 0.0


def test_values_are_cloned_by_half_the_squared_distance_of_both_critics():
    batch = type("B", (), {"new": jnp.array([1.0, 0.0]), "stored": Stored(None, jnp.zeros((2, 2)))})
    q = jnp.array([[1.0, 2.0], [3.0, 4.0]])
    loss, metrics = Clear(weight=7.0, critic_weight=0.5).extra_critic_loss(None, (), None, batch, q)
    # The second row alone is old: (2^2 + 4^2) / 2.
    assert metrics["loss_clone_q"] == 10.0
    assert loss == 0.5 * 10.0


def test_stored_outputs_are_those_at_the_end_of_the_task():
    """So cloning starts at 0 for the policy and for the values, and grows as they move."""
    run = second_task(small("clear", weight=1.0, critic_weight=1.0))
    state, batch = halves(run)
    weights = run.method.row_weights(batch, jnp.asarray(1))
    _, metrics = gradients(run.agent, state, batch, weights, KEY)
    assert abs(metrics["loss_clone_pi"]) < 1e-6
    assert metrics["loss_clone_q"] < 1e-8
    actor, critic = (
        jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf) * np.float32(1.1)), params)
        for params in (state.trainable.actor, state.trainable.critic)
    )
    moved = state._replace(trainable=state.trainable._replace(actor=actor, critic=critic))
    _, metrics = gradients(run.agent, moved, batch, weights, KEY)
    assert metrics["loss_clone_pi"] > 1e-4
    assert metrics["loss_clone_q"] > 1e-6


def test_recall_without_its_switches_is_plain_experience_replay():
    switches = {"distil": False, "normalise_targets": False, "best_return": False}
    bare = small("recall", **switches)
    shared = {field.name for field in dataclasses.fields(Method)}
    same = {name: getattr(bare, name) for name in shared}
    # Not only equal numbers: the very same program.
    runs = [SmallFleet(method) for method in (bare, Method(**same))]
    for run in runs:
        run.number = 1  # the second task
    programs = [fleet.burst.lower(*run.next_burst()).as_text() for run in runs]
    assert programs[0] == programs[1]


def test_old_moments_may_not_move_critics_that_nothing_holds():
    with pytest.raises(BadValueError, match="reset_optimiser is False, but clonex needs True"):
        ClonEx(reset_optimiser=False)
    ClonEx(reset_optimiser=False, critic_weight=1.0)
    Clear(reset_optimiser=False)  # it rehearses


def test_old_critics_learn_stored_values_only_where_policies_are_distilled():
    stored = Stored(None, jnp.ones((2, 3)))
    batch = type("B", (), {"stored": stored})
    assert Recall().old_targets(batch) is stored.q
    for bootstraps in ({"distil": False}, {"distil_critics": False}, {"sampling": "uniform"}):
        assert Recall(**bootstraps).old_targets(batch) is None
    assert Recall().old_targets(type("B", (), {"stored": None})) is None
    with pytest.raises(BadValueError, match="reset_optimiser is False, but recall needs True"):
        Recall(rehearse=False, reset_optimiser=False)


@pytest.mark.parametrize(
    ("method", "changes", "told"),
    [
        ("perfect_memory", {"rehearse": False}, "with sampling 'uniform' no part of a batch"),
        ("fine_tuning", {"old_weight": "per_task"}, "with sampling 'new' no part of a batch"),
        ("multi_task", {"best_return": True}, "multi_task needs False"),
        ("multi_task", {"retraining_updates": 50}, "multi_task needs 0"),
    ],
)
def test_settings_without_effect_are_refused(method, changes, told):
    with pytest.raises(BadValueError, match=told):
        METHODS[method](**changes)


def test_a_method_that_samples_for_itself_may_weigh_its_old_rows():
    class Sampling(FineTuning):
        def sample(self, *arguments):
            return super().sample(*arguments)

    Sampling(old_weight="per_task")


@dataclasses.dataclass(frozen=True)
class OwnTerm(Method):
    """A method whose term of the critics' loss asks for their values itself."""

    sampling: str = "balanced"
    memory_per_task: int | None = None
    rehearse: bool = False

    def extra_critic_loss(self, agent, method_state, critic, batch, q):
        again = agent.q(critic, batch.observation, batch.action, batch.layout)
        return 0.0, {"difference": jnp.max(jnp.abs(again - q))}


@pytest.mark.parametrize("rehearse", [True, False])
def test_a_term_of_the_critics_loss_has_the_critics_of_its_rows(rehearse):
    run = second_task(small(OwnTerm, rehearse=rehearse))
    assert np.all(np.asarray(run.burst()["difference"]) < 1e-5)
