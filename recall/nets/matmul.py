"""Matrix products in the precision that the settings name.

With `bfloat16` the inputs of every product are rounded to 8 bits of mantissa, forwards and
backwards, which halves the memory they travel through; parameters, sums, optimiser and losses
stay float32.
"""

from typing import Any

import jax
import jax.numpy as jnp

Array = jax.Array


def dot_general(x: Array, kernel: Array, *dimensions: Any, **_: Any) -> Array:
    """Rows [..., in] times kernel [in, out], inputs rounded; stands in for lax.dot_general."""
    return _rounded_product(x, kernel)


def _product(a: Array, b: Array) -> Array:
    """Of bfloat16 matrices, summed in float32."""
    if jax.default_backend() == "cpu":  # which has no such product: the same numbers, slower
        a, b = a.astype(jnp.float32), b.astype(jnp.float32)
    return jnp.matmul(a, b, preferred_element_type=jnp.float32)


@jax.custom_vjp
def _rounded_product(x: Array, kernel: Array) -> Array:
    return _forward(x, kernel)[0]


def _forward(x: Array, kernel: Array) -> tuple[Array, tuple[Array, Array]]:
    kept = x.astype(jnp.bfloat16), kernel.astype(jnp.bfloat16)
    return _product(*kept), kept


def _backward(kept: tuple[Array, Array], gradient: Array) -> tuple[Array, Array]:
    x, kernel = kept
    gradient = gradient.astype(jnp.bfloat16)
    rows, gradient_rows = (each.reshape(-1, each.shape[-1]) for each in (x, gradient))
    return _product(gradient, kernel.T), _product(rows.T, gradient_rows)


_rounded_product.defvjp(_forward, _backward)
