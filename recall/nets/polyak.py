"""Polyak averaging: parameters that follow others slowly."""

from typing import Any

import jax


def polyak(average: Any, params: Any, share: float) -> Any:
    """Return `average` moved by `share` of the way towards `params`, leaf by leaf."""
    return jax.tree.map(lambda a, p: a + share * (p - a), average, params)
