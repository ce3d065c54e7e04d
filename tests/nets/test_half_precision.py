"""Matrix products with bfloat16 inputs: what is rounded, and that little is lost."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ml_dtypes import bfloat16

from recall.nets.heads import BatchLayout
from recall.nets.layers import half_layer
from tests.factories.learners import flat, make_agent


def rounded(array):
    return np.asarray(array).astype(bfloat16).astype(np.float32)


@pytest.mark.parametrize("slope", [None, 0.0, 0.2])
def test_what_goes_into_and_out_of_a_product_is_rounded_and_its_sums_are_not(slope):
    rng = np.random.default_rng(0)
    x, kernel, bias = (rng.normal(size=size).astype(np.float32) for size in ((5, 40), (40, 7), 7))
    weight = rng.normal(size=(5, 7)).astype(np.float32)

    def loss(x, kernel, bias):
        outputs = half_layer(x, kernel, bias, slope).astype(jnp.float32)
        return jnp.sum(weight * outputs), outputs

    found, outputs = jax.grad(loss, argnums=(0, 1, 2), has_aux=True)(x, kernel, bias)
    product = rounded(x) @ rounded(kernel)
    expected, gradient = product + bias, weight
    if slope is not None:
        before = rounded(product) + bias
        expected = rounded(np.where(before > 0, before, slope * before))
        gradient = rounded(weight)
        gradient = np.where(expected > 0, gradient, rounded(rounded(slope) * gradient))
    np.testing.assert_allclose(outputs, expected, rtol=1e-5, atol=1e-5)
    of_x, of_kernel, of_bias = found
    np.testing.assert_allclose(of_bias, gradient.sum(axis=0), rtol=1e-5, atol=1e-5)
    gradient = rounded(gradient)
    np.testing.assert_allclose(of_kernel, rounded(x).T @ gradient, rtol=1e-5, atol=1e-5)
    exact = gradient @ rounded(kernel).T
    np.testing.assert_allclose(of_x, exact, rtol=2**-8, atol=1e-6)
    np.testing.assert_array_equal(of_x, rounded(of_x))


def test_a_network_in_half_precision_hardly_differs():
    exact = make_agent().critic
    half = replace(exact, half_inputs=True)
    params = exact.init(jax.random.PRNGKey(0))
    assert jax.tree.map(jnp.shape, half.init(jax.random.PRNGKey(0))) == jax.tree.map(
        jnp.shape, params
    )
    x = jax.random.normal(jax.random.PRNGKey(1), (12, exact.inputs))
    rows = BatchLayout(8, 2, 2)

    def loss(params, network):
        return jnp.mean((network.apply(params, x, rows) - 1.0) ** 2)

    gradient = jax.jit(jax.grad(loss), static_argnums=1)
    one, other = (gradient(params, network) for network in (exact, half))
    for name in params:
        right, found = (flat(each[name], 0) for each in (one, other))
        difference = np.linalg.norm(right - found) / np.linalg.norm(right)
        assert 0.0 < difference < 0.03
