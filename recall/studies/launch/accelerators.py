"""The accelerators of a machine and their memory, measured in a short-lived process.

A process that asks JAX for a GPU reserves most of its memory, so the launcher must not ask itself.
"""

import json
import os
import subprocess
from dataclasses import dataclass

from recall.errors import RecallError
from recall.plugins.python_process import python_command
from recall.training.memory import available_host

# Share of a host's free memory; workers, checkpoints and other processes need the rest.
_SHARE_OF_HOST = 0.7
# Share of a GPU's memory that JAX reserves by default.
_SHARE_OF_GPU = 0.75


@dataclass(frozen=True)
class Devices:
    """The devices that one fleet has to itself."""

    kind: str
    count: int
    bytes_each: int


def measure() -> Devices:
    """Return the devices that JAX sees in this process."""
    import jax

    devices = jax.local_devices()
    first = devices[0]
    stats = first.memory_stats() if first.platform != "cpu" else None
    if stats and "bytes_limit" in stats:
        return Devices(first.device_kind, len(devices), int(stats["bytes_limit"]))
    return Devices(first.device_kind, len(devices), int(free_memory() / len(devices)))


def free_memory() -> float:
    """Return the bytes of host memory that a fleet may use."""
    return _SHARE_OF_HOST * available_host()


def use_cpu_only() -> None:
    """Hide accelerators from JAX in this process, which only plans; child processes see them."""
    import jax

    jax.config.update("jax_platforms", "cpu")


def probe() -> Devices:
    """Run `measure` in a separate process."""
    command = python_command(
        "import json; from recall.studies.launch import accelerators",
        "print(json.dumps(vars(accelerators.measure())))",
    )
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RecallError(f"the devices cannot be measured: {done.stderr.strip()[-300:]}")
    return Devices(**json.loads(done.stdout.splitlines()[-1]))


def memory_share(fleets: int) -> dict[str, str]:
    """Return the environment variables that let `fleets` processes share one GPU."""
    if fleets == 1 or "XLA_PYTHON_CLIENT_MEM_FRACTION" in os.environ:
        return {}
    return {"XLA_PYTHON_CLIENT_MEM_FRACTION": f"{_SHARE_OF_GPU / fleets:.3f}"}
