"""What methods return to the learner, checked when an update is traced.

A method's term goes into a loss that is differentiated, where JAX would complain of something that
names neither the method nor its function.
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
    problem = f"method {method.name}: {function} returns {_in_words(returned)}"
    if not (isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[1], dict)):
        raise BadValueError(f"{problem}; expected a loss and a dict of metrics: `loss, {{}}`")
    term, metrics = returned
    if not isinstance(term, int | float | np.generic | np.ndarray | jax.Array):
        raise BadValueError(f"{problem} with {_in_words(term)} as its loss; expected a number")
    array = jnp.asarray(term)
    real = jnp.issubdtype(array.dtype, jnp.floating) or jnp.issubdtype(array.dtype, jnp.integer)
    if array.shape or not real:
        raise BadValueError(
            f"method {method.name}: {function} returns a loss of shape {list(array.shape)} and "
            f"type {array.dtype}; expected a number: take the mean over the batch"
        )
    return array, metrics


def merged(*parts: Metrics) -> Metrics:
    """Return all metrics together; raise BadValueError if two parts have one of the same name."""
    found: Metrics = {}
    for part in parts:
        if taken := found.keys() & part.keys():
            raise BadValueError(
                f"the metric {min(taken)!r} is returned twice; a method's own metrics need names "
                "that neither the learner nor another of its functions uses"
            )
        found |= part
    return found


def _in_words(value: Any) -> str:
    return f"a tuple of {len(value)}" if isinstance(value, tuple) else f"a {type(value).__name__}"
