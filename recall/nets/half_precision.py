"""Layers whose matrix products take bfloat16 inputs and sum in float32.

Kernels, inputs and gradients are rounded to 8 bits of mantissa before a product. The product of a
hidden layer is rounded after it is summed up, and again after bias and activation, since the next
layer reads it in that precision. This halves memory traffic in the forward and backward passes.
Parameters, their gradients, optimiser, losses and the outputs of a network stay float32.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from recall.nets import norm
from recall.nets.arrays import Array

HALF = jnp.bfloat16


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
) -> tuple[Array, tuple[Array, Array, norm.Kept]]:
    kernel = kernel.astype(HALF)
    outputs, kept = norm.forward(product(x, kernel) + bias, scale, shift)
    # The barrier keeps the rows rounded: compilers may otherwise remove the conversion.
    rows = jax.lax.optimization_barrier(kept.rows.astype(HALF))
    return outputs.astype(HALF), (x, kernel, kept._replace(rows=rows))


def _norm_layer_backward(
    kept: tuple[Array, Array, norm.Kept], gradient: Array
) -> tuple[Array, Array, Array, Array, Array]:
    x, kernel, of_norm = kept
    of_product, of_scale, of_shift = norm.backward(of_norm, gradient)
    of_product = jax.lax.optimization_barrier(of_product.astype(HALF))
    of_bias = jnp.sum(of_product, axis=0, dtype=jnp.float32)
    return *_backward_product(x, kernel, of_product), of_bias, of_scale, of_shift


_norm_layer.defvjp(_norm_layer_forward, _norm_layer_backward)
