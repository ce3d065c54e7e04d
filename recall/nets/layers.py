"""Layers with backward passes of their own: LayerNorm with tanh, and products in bfloat16.

**LayerNorm and tanh** equal those of flax (checked by a test). The backward pass reads the
normalised rows instead of recomputing them from the layer's input; it does recompute tanh, which is
cheaper than reading it. The barriers separate the sums over a row from the operations that use
them: a GPU compiler would otherwise fuse them into one kernel, which is several times slower.

**Products in bfloat16** sum in float32. Kernels, inputs and gradients are rounded to 8 bits of
mantissa before a product. The product of a hidden layer is rounded after it is summed up, and again
after bias and activation, since the next layer reads it in that precision. This halves memory
traffic. Parameters, their gradients, optimiser, losses and a network's outputs stay float32.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from recall.nets.arrays import Array
from recall.nets.constants import NORM_EPSILON

HALF = jnp.bfloat16


class Kept(NamedTuple):
    """Values that the backward pass needs."""

    rows: Array  # [n, width] normalised rows
    sums: tuple[Array, ...]  # [n, 1] sums of each row and of its squares
    scale: Array
    shift: Array


@jax.custom_vjp
def norm_tanh(x: Array, scale: Array, shift: Array) -> Array:
    """Normalise rows x [n, width] to mean 0 and variance 1, then scale, shift and apply tanh."""
    return norm_forward(x, scale, shift)[0]


def norm_forward(x: Array, scale: Array, shift: Array) -> tuple[Array, Kept]:
    """Return the outputs, and the values that the backward pass needs."""
    sums = _row_sums(x, x**2)
    mean, rate = _mean_and_rate(sums, x.shape[-1])
    rows = (x - mean) * rate
    return jnp.tanh(rows * scale + shift), Kept(rows, sums, scale, shift)


def norm_backward(kept: Kept, gradient: Array) -> tuple[Array, Array, Array]:
    """Return the gradients of x, scale and shift, summed in float32 whatever the rows' dtype."""
    rows, width = kept.rows.astype(jnp.float32), kept.rows.shape[-1]
    slope = 1.0 - jnp.tanh(rows * kept.scale + kept.shift) ** 2
    gradient = gradient.astype(jnp.float32) * slope
    of_rows = gradient * kept.scale
    total, along = _row_sums(of_rows, of_rows * rows)
    _, rate = _mean_and_rate(kept.sums, width)
    of_x = rate * (of_rows - (total + rows * along) / width)
    return of_x, jnp.sum(gradient * rows, axis=0), jnp.sum(gradient, axis=0)


def _row_sums(*arrays: Array) -> tuple[Array, ...]:
    sums = tuple(jnp.sum(array, axis=-1, keepdims=True) for array in arrays)
    apart: tuple[Array, ...] = jax.lax.optimization_barrier(sums)
    return apart


def _mean_and_rate(sums: tuple[Array, ...], width: int) -> tuple[Array, Array]:
    """Return the mean of rows with these sums, and the factor that makes their variance 1."""
    mean = sums[0] / width
    variance = jnp.maximum(sums[1] / width - mean**2, 0.0)
    return mean, jax.lax.rsqrt(variance + NORM_EPSILON)


norm_tanh.defvjp(norm_forward, norm_backward)


def product(a: Array, b: Array, dtype: Any = jnp.float32) -> Array:
    """Return the product of bfloat16 matrices, summed in float32, as `dtype`."""
    if jax.default_backend() == "cpu":  # has no such product: same numbers, but slower
        a, b = a.astype(jnp.float32), b.astype(jnp.float32)
        return jnp.matmul(a, b).astype(dtype)
    return jnp.matmul(a, b, preferred_element_type=dtype)


def half_layer(x: Array, kernel: Array, bias: Array, slope: float | None) -> Array:
    """Return rows x [n, in] times kernel [in, out] plus bias.

    With a `slope`, that of the activation below 0, the outputs pass through a (leaky) ReLU and are
    bfloat16. Without one they are float32.
    """
    return _layer(x.astype(HALF), kernel, bias, slope)


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def _layer(x: Array, kernel: Array, bias: Array, slope: float | None) -> Array:
    return _layer_forward(x, kernel, bias, slope)[0]


def _layer_forward(
    x: Array, kernel: Array, bias: Array, slope: float | None
) -> tuple[Array, tuple[Array, ...]]:
    kernel = kernel.astype(HALF)
    if slope is None:
        # The last layer has one or few outputs. The barrier separates it from the layer before:
        # the compiler would fuse the two into something slow.
        x = jax.lax.optimization_barrier(x)
        return product(x, kernel) + bias, (x, kernel)
    before = product(x, kernel, HALF) + bias
    outputs = jnp.where(before > 0, before, slope * before).astype(HALF)
    return outputs, (x, kernel, outputs)


def _layer_backward(
    slope: float | None, kept: tuple[Array, ...], gradient: Array
) -> tuple[Array, Array, Array]:
    x, kernel, *outputs = kept
    if slope is not None:
        gradient = jnp.where(outputs[0] > 0, gradient, slope * gradient)
    of_bias = jnp.sum(gradient, axis=0, dtype=jnp.float32)
    return *_backward_product(x, kernel, gradient.astype(HALF)), of_bias


def _backward_product(x: Array, kernel: Array, gradient: Array) -> tuple[Array, Array]:
    """Return the gradients of inputs (bfloat16) and kernel (float32), given that of the product."""
    return product(gradient, kernel.T, HALF), product(x.T, gradient)


_layer.defvjp(_layer_forward, _layer_backward)


def half_norm_layer(x: Array, kernel: Array, bias: Array, scale: Array, shift: Array) -> Array:
    """Return x [n, in] times kernel plus bias, after LayerNorm and tanh; outputs are bfloat16."""
    return _norm_layer(x.astype(HALF), kernel, bias, scale, shift)


@jax.custom_vjp
def _norm_layer(x: Array, kernel: Array, bias: Array, scale: Array, shift: Array) -> Array:
    return _norm_layer_forward(x, kernel, bias, scale, shift)[0]


def _norm_layer_forward(
    x: Array, kernel: Array, bias: Array, scale: Array, shift: Array
) -> tuple[Array, tuple[Array, Array, Kept]]:
    kernel = kernel.astype(HALF)
    outputs, kept = norm_forward(product(x, kernel) + bias, scale, shift)
    # The barrier keeps the rows rounded: compilers may otherwise remove the conversion.
    rows = jax.lax.optimization_barrier(kept.rows.astype(HALF))
    return outputs.astype(HALF), (x, kernel, kept._replace(rows=rows))


def _norm_layer_backward(
    kept: tuple[Array, Array, Kept], gradient: Array
) -> tuple[Array, Array, Array, Array, Array]:
    x, kernel, of_norm = kept
    of_product, of_scale, of_shift = norm_backward(of_norm, gradient)
    of_product = jax.lax.optimization_barrier(of_product.astype(HALF))
    of_bias = jnp.sum(of_product, axis=0, dtype=jnp.float32)
    return *_backward_product(x, kernel, of_product), of_bias, of_scale, of_shift


_norm_layer.defvjp(_norm_layer_forward, _norm_layer_backward)
