"""The terms that methods add to the losses, checked when they are traced.

What a method of the user's returns goes into the loss that is differentiated, where JAX would
complain of something that names neither the method nor its function.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from recall.errors import BadValueError
from recall.learn.method import Method
from recall.nets.arrays import Array, Metrics


def checked_term(method: Method, function: str, returned: Any) -> tuple[Array, Metrics]:
    """Return the term and the metrics that a method's function returned, or refuse them."""
    told = f"method {method.name}: {function} returns"
    expected = "expected a number, which is added to the loss, and a dict of metrics"
    if not (isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[1], dict)):
        raise BadValueError(f"{told} {_in_words(returned)}: {expected}, such as `loss, {{}}`")
    term, metrics = returned
    if not isinstance(term, int | float | np.generic | np.ndarray | jax.Array):
        raise BadValueError(f"{told} {_in_words(term)} as its term: {expected}")
    array = jnp.asarray(term)
    real = jnp.issubdtype(array.dtype, jnp.floating) or jnp.issubdtype(array.dtype, jnp.integer)
    if array.shape or not real:
        raise BadValueError(
            f"{told} a term of shape {list(array.shape)} and type {array.dtype}: {expected}; "
            "take the mean over the batch"
        )
    return array, metrics


def _in_words(value: Any) -> str:
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    return f"a {type(value).__name__}"
