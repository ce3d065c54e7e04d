"""The accelerators of a machine and their memory, measured in a process that ends right away.

A process that asks JAX for a GPU reserves most of its memory, so the launcher never asks itself.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from recall.errors import RecallError

# Of a host's free memory: workers, checkpoints and everybody else need the rest.
_SHARE_OF_HOST = 0.7
# What JAX reserves of a GPU by itself.
_SHARE_OF_GPU = 0.75


@dataclass(frozen=True)
class Devices:
    """What one fleet has to itself."""

    kind: str
    count: int
    bytes_each: int


def measure() -> Devices:
    """Those that JAX sees in this process."""
    import jax

    devices = jax.local_devices()
    first = devices[0]
    stats = first.memory_stats() if first.platform != "cpu" else None
    if stats and "bytes_limit" in stats:
        return Devices(first.device_kind, len(devices), int(stats["bytes_limit"]))
    return Devices(first.device_kind, len(devices), int(free_memory() / len(devices)))


def free_memory() -> float:
    """Bytes of host memory that a fleet may take."""
    path = Path("/proc/meminfo")
    if path.exists():
        lines = dict(line.split(":") for line in path.read_text().splitlines())
        return _SHARE_OF_HOST * 1024 * int(lines["MemAvailable"].split()[0])
    return _SHARE_OF_HOST * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def use_cpu_only() -> None:
    """Let JAX in this process, which only plans, see no accelerator; its children do."""
    import jax

    jax.config.update("jax_platforms", "cpu")


def probe() -> Devices:
    """`measure` in a process of its own."""
    program = "import json; from recall.launch import accelerators; " + (
        "print(json.dumps(vars(accelerators.measure())))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    if done.returncode:
        raise RecallError(f"the devices cannot be measured: {done.stderr.strip()[-300:]}")
    return Devices(**json.loads(done.stdout.splitlines()[-1]))


def memory_share(fleets: int) -> dict[str, str]:
    """The environment in which `fleets` processes can share one GPU."""
    if fleets == 1 or "XLA_PYTHON_CLIENT_MEM_FRACTION" in os.environ:
        return {}
    return {"XLA_PYTHON_CLIENT_MEM_FRACTION": f"{_SHARE_OF_GPU / fleets:.3f}"}
