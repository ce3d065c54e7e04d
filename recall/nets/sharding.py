"""Sharding over several accelerators: the run axis of a fleet is divided into equal parts.

Runs are independent of each other, so devices never communicate. A fleet uses the largest number
of devices that divides its runs: 40 runs on 4 devices are 10 on each, and 10 runs on 4 devices are
5 on each of 2. No dummy runs are added to use the remaining devices.
"""

from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec


def devices_for(runs: int) -> list[jax.Device]:
    """Return as many of this process's devices as `runs` can be divided over equally."""
    devices = jax.local_devices()
    count = max(n for n in range(1, len(devices) + 1) if runs % n == 0)
    return devices[:count]


def over_devices(runs: int) -> NamedSharding | None:
    """Return the sharding of arrays with a leading axis of `runs`, or None for a single device."""
    devices = devices_for(runs)
    if len(devices) == 1:
        return None
    return NamedSharding(Mesh(np.array(devices), ("run",)), PartitionSpec("run"))


def shard(tree: Any) -> Any:
    """Put arrays with a leading run axis, from the host or any device, on their devices."""
    runs = jax.tree.leaves(tree)[0].shape[0]
    layout = over_devices(runs)
    if layout is None:
        return jax.tree.map(jnp.array, tree)
    return jax.device_put(tree, layout)


def reshard(tree: Any) -> Any:
    """Shard the result of a jitted function again, if there are several devices.

    Arrays that the function created, such as reset moments, are replicated on every device. The
    next function would be compiled once for that layout and again for the one that follows.
    """
    layout = over_devices(jax.tree.leaves(tree)[0].shape[0])
    return tree if layout is None else jax.device_put(tree, layout)


def to_int32(value: int | list[int]) -> jax.Array:
    """Convert an integer, or a list of them, to an int32 argument of a jitted function.

    A NumPy array is transferred with the call. A JAX array would be a separate transfer for each
    argument: a third of a millisecond, during which the accelerator waits.
    """
    return cast(jax.Array, np.int32(value) if isinstance(value, int) else np.array(value, np.int32))
