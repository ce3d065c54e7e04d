"""Names of arrays that networks, replay, the learner and methods share.

Axes, everywhere: `run` (runs of a fleet), `task` (position in the sequence, one head each),
`slot` (place in a buffer), `batch` (rows of a batch), `obs`, `act`. Functions are written for one
run; the run axis is added by vmap in one place.
"""

from typing import Any

import jax

Array = jax.Array
Params = Any
Metrics = dict[str, Array]
