"""The devices that one fleet has to itself, and their memory."""

from dataclasses import dataclass

from recall.training import memory

# Share of a host's free memory; workers, checkpoints and other processes need the rest.
_SHARE_OF_HOST = 0.7


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
