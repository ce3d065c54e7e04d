"""Settings that are arguments of compiled programs: one compilation, and a value for each run."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.learn import fleet
from recall.methods import METHODS
from recall.settings.scalars import applies, scalars, with_scalars
from tests.factories.learners import make_agent, make_replay, one, run_burst

RATES = (1e-3, 8e-4, 6e-4, 5e-4, 4e-4, 3e-4)


@pytest.mark.parametrize("name", METHODS)
def test_a_program_depends_on_no_scalar(name):
    agent = make_agent(METHODS[name]())
    used = {path: value for path, value in scalars(agent).items() if applies(value)}
    assert len(jax.tree.leaves(agent)) == len(used) >= 7
    other = with_scalars(agent, {path: 0.5 * value for path, value in used.items()})
    assert jax.tree.structure(agent) == jax.tree.structure(other)
    assert jax.tree.structure(agent) != jax.tree.structure(make_agent(METHODS[name](), n_step=2))


def test_six_learning_rates_compile_once():
    compiled = []
    for rate in RATES:
        agent = make_agent(learning_rate=rate)
        run_burst(agent, fleet.init(agent, jnp.array([0])), make_replay(1), 1)
        compiled.append((fleet.init._cache_size(), fleet.burst._cache_size()))
    assert compiled == compiled[:1] * len(RATES)


def test_a_run_with_its_own_values_is_as_if_trained_alone():
    own = {
        "settings.sac.learning_rate": np.float32([1e-3, 3e-4]),
        "settings.sac.discount": np.float32([0.99, 0.9]),
        "method.clip_norm": np.float32([0.1, 1.0]),
        "method.distillation_weight": np.float32([0.0, 10.0]),
    }
    varied, replay = with_scalars(make_agent(), own), make_replay(2)
    together, metrics = run_burst(varied, fleet.init(varied, jnp.array([3, 4])), replay, task=1)
    for run in range(2):
        agent = with_scalars(varied, {path: float(values[run]) for path, values in own.items()})
        mine = jax.tree.map(lambda leaf, run=run: leaf[run : run + 1], replay)
        state, measured = run_burst(agent, fleet.init(agent, jnp.array([3 + run])), mine, task=1)
        np.testing.assert_allclose(metrics["loss_q"][run], measured["loss_q"][0], rtol=1e-3)
        for each, expected in zip(
            jax.tree.leaves(together.trainable), jax.tree.leaves(one(state.trainable)), strict=True
        ):
            np.testing.assert_allclose(np.asarray(each)[run], expected, rtol=1e-3, atol=1e-5)
