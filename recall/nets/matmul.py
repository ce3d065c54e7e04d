"""A layer whose matrix products take bfloat16 inputs and sum in float32.

Kernels, inputs and gradients are rounded to 8 bits of mantissa on their way into a product, and a
hidden layer's outputs are kept as the next layer will read them: half the memory to travel
through, forwards and backwards. Parameters, their gradients, optimiser and losses stay float32.
"""

from functools import partial

import jax
import jax.numpy as jnp

Array = jax.Array


def _product(a: Array, b: Array) -> Array:
    """Of bfloat16 matrices, summed in float32."""
    if jax.default_backend() == "cpu":  # which has no such product: the same numbers, slower
        a, b = a.astype(jnp.float32), b.astype(jnp.float32)
    return jnp.matmul(a, b, preferred_element_type=jnp.float32)


def half_layer(x: Array, kernel: Array, bias: Array, slope: float | None) -> Array:
    """Rows x [n, in] times kernel [in, out] plus bias.

    With a `slope` below 0 the outputs go through a (leaky) ReLU and are bfloat16; without they
    are float32.
    """
    return _layer(x.astype(jnp.bfloat16), kernel, bias, slope)


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def _layer(x: Array, kernel: Array, bias: Array, slope: float | None) -> Array:
    return _forward(x, kernel, bias, slope)[0]


def _forward(
    x: Array, kernel: Array, bias: Array, slope: float | None
) -> tuple[Array, tuple[Array, ...]]:
    kernel = kernel.astype(jnp.bfloat16)
    before = _product(x, kernel) + bias
    if slope is None:
        return before, (x, kernel)
    outputs = jnp.where(before > 0, before, slope * before).astype(jnp.bfloat16)
    return outputs, (x, kernel, outputs)


def _backward(
    slope: float | None, kept: tuple[Array, ...], gradient: Array
) -> tuple[Array, Array, Array]:
    x, kernel, *outputs = kept
    if slope is not None:
        gradient = jnp.where(outputs[0] > 0, gradient, slope * gradient)
    of_bias = jnp.sum(gradient, axis=0, dtype=jnp.float32)
    gradient = gradient.astype(jnp.bfloat16)
    of_x = _product(gradient, kernel.T).astype(jnp.bfloat16)
    return of_x, _product(x.T, gradient), of_bias


_layer.defvjp(_forward, _backward)
