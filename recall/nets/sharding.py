"""Several accelerators: the run axis of a fleet is divided over them, in equal parts.

Runs never look at each other, so each device works on its own and nothing travels between them.
A fleet takes as many devices as divide its runs: 40 runs on 4 devices are 10 on each, 10 runs on 4
are 5 on each of 2. Runs without a counterpart are not made up to fill the others.
"""

from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec


def devices_for(runs: int) -> list[jax.Device]:
    """As many of this process's devices as `runs` can be divided over."""
    devices = jax.local_devices()
    count = max(n for n in range(1, len(devices) + 1) if runs % n == 0)
    return devices[:count]


def over_devices(runs: int) -> NamedSharding | None:
    """How arrays with `runs` in front are laid out; None leaves them on the one device."""
    devices = devices_for(runs)
    if len(devices) == 1:
        return None
    return NamedSharding(Mesh(np.array(devices), ("run",)), PartitionSpec("run"))


def shard(tree: Any) -> Any:
    """Arrays with the run axis in front, from the host or from any device, on their devices."""
    runs = jax.tree.leaves(tree)[0].shape[0]
    layout = over_devices(runs)
    if layout is None:
        return jax.tree.map(jnp.array, tree)
    return jax.device_put(tree, layout)


def reshard(tree: Any) -> Any:
    """What a jitted function returned, divided over the devices again, if there are several.

    What it made anew, such as moments that are reset, it leaves whole on every device, and the
    next function would be compiled once for that and once more for what comes after it.
    """
    layout = over_devices(jax.tree.leaves(tree)[0].shape[0])
    return tree if layout is None else jax.device_put(tree, layout)


def as_argument(value: int | list[int]) -> jax.Array:
    """A whole number, or several, as an argument of a jitted function.

    Left in NumPy's form it travels with the call. Made an array of JAX's beforehand, each would
    be a transfer of its own: a third of a millisecond, with the accelerator waiting.
    """
    return cast(jax.Array, np.int32(value) if isinstance(value, int) else np.array(value, np.int32))
