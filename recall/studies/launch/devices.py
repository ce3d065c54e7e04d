"""The devices that one fleet has to itself, and their memory."""

import os
from dataclasses import dataclass

from recall.training import memory

# Share of a host's free memory; workers, checkpoints and other processes need the rest.
_SHARE_OF_HOST = 0.7
# Share of a GPU's memory that JAX reserves by default.
_SHARE_OF_GPU = 0.75


@dataclass(frozen=True)
class Devices:
    """The devices that JAX sees, which are all alike."""

    kind: str
    count: int
    bytes_each: int


def measure() -> Devices:
    """Return the devices that JAX sees in this process."""
    import jax

    devices, there = jax.local_devices(), memory.measure()
    total = _SHARE_OF_HOST * there.host if there.device is None else there.device
    return Devices(devices[0].device_kind, len(devices), int(total / len(devices)))


def use_cpu_only() -> None:
    """Hide accelerators from JAX in this process, which only plans; child processes see them."""
    import jax

    jax.config.update("jax_platforms", "cpu")


def memory_share(fleets: int) -> dict[str, str]:
    """Return the environment variables that let `fleets` processes share one GPU."""
    if fleets == 1 or "XLA_PYTHON_CLIENT_MEM_FRACTION" in os.environ:
        return {}
    return {"XLA_PYTHON_CLIENT_MEM_FRACTION": f"{_SHARE_OF_GPU / fleets:.3f}"}
