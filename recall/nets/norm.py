"""LayerNorm and tanh as one step, with a backward pass that reads little.

The same numbers as flax's LayerNorm followed by tanh (a test holds them equal). Written out so
that the backward pass finds the normalised rows, instead of computing them again from the layer's
input; tanh it does compute again, which is cheaper than to read it.

The barriers keep the sums over a row apart from what uses them: joined to one kernel, as the GPU
compiler likes to, they are several times slower.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

Array = jax.Array

EPSILON = 1e-6


class Kept(NamedTuple):
    """What the backward pass needs."""

    rows: Array  # [n, width] normalised
    sums: tuple[Array, ...]  # [n, 1] of each row and of its squares
    scale: Array
    shift: Array


@jax.custom_vjp
def norm_tanh(x: Array, scale: Array, shift: Array) -> Array:
    """Rows x [n, width], each with mean 0 and variance 1, scaled, shifted and through tanh."""
    return forward(x, scale, shift)[0]


def forward(x: Array, scale: Array, shift: Array) -> tuple[Array, Kept]:
    """The outputs, and what the backward pass needs."""
    sums = _row_sums(x, x**2)
    mean, rate = _mean_and_rate(sums, x.shape[-1])
    rows = (x - mean) * rate
    return jnp.tanh(rows * scale + shift), Kept(rows, sums, scale, shift)


def backward(kept: Kept, gradient: Array) -> tuple[Array, Array, Array]:
    """The gradients of x, scale and shift; sums in float32, whatever the rows are kept as."""
    rows, width = kept.rows.astype(jnp.float32), kept.rows.shape[-1]
    slope = 1.0 - jnp.tanh(rows * kept.scale + kept.shift) ** 2
    gradient = gradient.astype(jnp.float32) * slope
    of_rows = gradient * kept.scale
    total, along = _row_sums(of_rows, of_rows * rows)
    _, rate = _mean_and_rate(kept.sums, width)
    of_x = rate * (of_rows - (total + rows * along) / width)
    return of_x, jnp.sum(gradient * rows, axis=0), jnp.sum(gradient, axis=0)


def layer_norm(x: Array, scale: Array, shift: Array) -> Array:
    """Rows x [n, width], each with mean 0 and variance 1, scaled and shifted."""
    x = x.astype(jnp.float32)
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    rate = jax.lax.rsqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + EPSILON)
    return centred * rate * scale + shift


def _row_sums(*arrays: Array) -> tuple[Array, ...]:
    sums = tuple(jnp.sum(array, axis=-1, keepdims=True) for array in arrays)
    apart: tuple[Array, ...] = jax.lax.optimization_barrier(sums)
    return apart


def _mean_and_rate(sums: tuple[Array, ...], width: int) -> tuple[Array, Array]:
    """Of rows with these sums: the mean, and what makes their variance 1."""
    mean = sums[0] / width
    variance = jnp.maximum(sums[1] / width - mean**2, 0.0)
    return mean, jax.lax.rsqrt(variance + EPSILON)


norm_tanh.defvjp(forward, backward)
