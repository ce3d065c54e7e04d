"""LayerNorm and tanh as one step: flax's numbers, forwards and backwards."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.nets.layers import half_norm_layer, norm_tanh

ROWS, INPUTS, WIDTH = 6, 5, 16


def made_up():
    rng = np.random.default_rng(0)
    x = rng.normal(1.0, 3.0, (ROWS, INPUTS))
    kernel = rng.normal(0.0, 0.5, (INPUTS, WIDTH))
    bias, scale, shift = rng.normal(0.5, 1.0, (3, WIDTH))
    return tuple(jnp.asarray(array, jnp.float32) for array in (x, kernel, bias, scale, shift))


def flax_layer(x, kernel, bias, scale, shift):
    norm = {"params": {"scale": scale, "bias": shift}}
    return jnp.tanh(nn.LayerNorm().apply(norm, x @ kernel + bias))


def our_layer(x, kernel, bias, scale, shift):
    return norm_tanh(x @ kernel + bias, scale, shift)


def value_and_gradients(layer):
    def loss(*arguments):
        outputs = layer(*arguments).astype(jnp.float32)
        return jnp.sum(outputs * jnp.arange(ROWS * WIDTH).reshape(ROWS, WIDTH) / 10.0), outputs

    gradients, outputs = jax.jit(jax.grad(loss, argnums=tuple(range(5)), has_aux=True))(*made_up())
    return outputs, *gradients


# In half precision rounding adds up along a row, so what is small beside the largest may be off.
@pytest.mark.parametrize(("layer", "error"), [(our_layer, 1e-5), (half_norm_layer, 3e-2)])
def test_flax_gives_the_same_numbers_and_gradients(layer, error):
    expected = value_and_gradients(flax_layer)
    for found, right in zip(value_and_gradients(layer), expected, strict=True):
        np.testing.assert_allclose(found, right, rtol=0, atol=error * np.abs(right).max())


def test_a_row_of_equal_numbers_stays_finite():
    outputs = norm_tanh(jnp.full((1, WIDTH), 1e4), jnp.ones(WIDTH), jnp.zeros(WIDTH))
    assert np.isfinite(outputs).all()
    np.testing.assert_allclose(outputs, 0.0, atol=1e-2)
