"""Array types shared by networks, replay, the learner and methods.

Axis names used everywhere: `run` (runs of a fleet), `task` (position in the sequence, one head
each), `slot` (place in a buffer), `batch` (rows of a batch), `obs`, `act`. Functions are written
for one run; vmap adds the run axis in one place.
"""

from typing import Any

import jax

Array = jax.Array
Params = Any  # {"trunk": [size], "heads": a tree of layers, each leaf [task, ...]}
Metrics = dict[str, Array]
