"""Networks: their first parameters, heads, layer norms and the squashed Gaussian."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.nets import gaussian
from recall.nets.heads import (
    OldAndNew,
    head_of,
    joined,
    put_heads,
    put_leaf,
    split_heads,
    take_heads,
)
from tests.factories.learners import TASKS, flat, leaves_equal, make_agent


def test_squashed_gaussian_log_probability_is_the_change_of_variables():
    policy = gaussian.Gaussian(jnp.array([0.3, -1.0]), jnp.array([-0.5, 0.2]))
    noise = jnp.array([0.7, -0.4])
    action, log_pi = gaussian.sample(policy, noise)
    before = np.arctanh(np.asarray(action, float))
    std = np.exp(np.asarray(policy.log_std, float))
    density = -0.5 * ((before - np.asarray(policy.mean)) / std) ** 2 - np.log(
        std * np.sqrt(2 * np.pi)
    )
    expected = np.sum(density - np.log(1 - np.asarray(action, float) ** 2))
    np.testing.assert_allclose(log_pi, expected, rtol=1e-5)


def test_the_spread_of_a_policy_is_bounded():
    found = gaussian.from_outputs(jnp.array([0.5, 9.0, -30.0, 5.0]))
    np.testing.assert_array_equal(found.mean, [0.5, 9.0])
    np.testing.assert_array_equal(found.log_std, [-20.0, 2.0])


def test_the_target_entropy_is_that_of_independent_gaussians():
    """Each dimension has 1/2 log(2 pi e sigma^2), and entropies of independent ones add up."""
    of_one = 0.5 * np.log(2 * np.pi * np.e * 0.089**2)
    assert gaussian.target_entropy(1, 0.089) == pytest.approx(of_one)
    assert gaussian.target_entropy(4, 0.089) == pytest.approx(4 * of_one)


def test_networks_start_as_flax_would_start_them():
    """Kernels uniform within Glorot's limit, biases 0, the norm's scales 1; heads differ."""
    network = make_agent().critic
    params = network.init(jax.random.PRNGKey(0))
    for tree in (network.trunk_tree(params["trunk"]), head_of(params["heads"], 1)):
        for name, layer in tree.items():
            assert not np.any(layer["bias"])
            if name == "norm":
                assert np.all(layer["scale"] == 1.0)
                continue
            limit = np.sqrt(6.0 / sum(layer["kernel"].shape))
            assert 0.8 * limit < np.abs(layer["kernel"]).max() <= limit
            assert abs(np.mean(layer["kernel"])) < 3.0 * limit / np.sqrt(layer["kernel"].size)
    assert not np.array_equal(*flat(params["heads"])[:2])


def test_heads_taken_apart_and_joined_are_the_same():
    heads = make_agent().critic.init(jax.random.PRNGKey(0))["heads"]
    apart = split_heads(heads, TASKS - 1)
    assert isinstance(apart, OldAndNew)
    assert leaves_equal(joined(apart), heads)
    assert split_heads(apart, TASKS - 1) is apart
    assert split_heads(heads, 0) is heads is joined(heads)


def test_put_heads_rewrites_those_and_no_others():
    leaf, values = jnp.arange(4.0), jnp.array([7.0, 8.0])
    np.testing.assert_array_equal(put_leaf(leaf, values, np.arange(2)), [7, 8, 2, 3])
    for heads in (jnp.array([3, 1]), np.array([3, 1])):
        whole, part = {"heads": leaf, "trunk": 0}, {"heads": values, "trunk": 1}
        put = put_heads(whole, part, heads)
        np.testing.assert_array_equal(put["heads"], [0, 8, 2, 7])
        assert put["trunk"] == 1
        assert leaves_equal(take_heads({"heads": leaf}, heads), {"heads": leaf[jnp.array([3, 1])]})
