"""Values in a form that compares: what differs by rounding alone is equal.

Means of the same successes, added up in another order, differ in their last bits, and 0.4 - 0.3 is
a little more than 0.1. Whatever says that one value is larger than another compares these.
"""

import numpy as np
from numpy.typing import ArrayLike

_DECIMALS = 9


def settled(values: ArrayLike) -> np.ndarray:
    """Return the values without the digits in which rounding errors lie."""
    return np.round(np.asarray(values, float), _DECIMALS)
