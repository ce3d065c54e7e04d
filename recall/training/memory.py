"""Memory that a fleet needs, estimated and compared with what there is before training starts."""

import dataclasses
import math
import os
from dataclasses import dataclass
from pathlib import Path

from recall.collect.pool import cores, default_workers
from recall.config.spec import FleetSpec
from recall.errors import RecallError
from recall.learn import fleet
from recall.training.agents import agent_of
from recall.training.sizes import gibibytes, learner_bytes, replay_bytes, run_bytes, with_spare

# Measured on Linux, the private memory of a worker with robot tasks is 37 MB. The trainer's, with
# JAX and its compiled programs but without a fleet's arrays, is an estimate.
_WORKER_BYTES = 64 << 20
_TRAINER_BYTES = 512 << 20


class TooLargeError(RecallError):
    """A fleet needs more memory than there is."""


@dataclass(frozen=True)
class Memory:
    """Bytes of memory that are available."""

    host: int
    device: int | None = None
    """Memory of all accelerators that the fleet uses, together; None if it trains on the CPU."""


def check_memory(spec: FleetSpec, available: Memory | None = None) -> None:
    """Raise an error with what would fit if the fleet needs more memory than is available."""
    available = available or measure()
    agent, _ = agent_of(spec)
    runs, each = len(spec.runs), run_bytes(spec)
    processes = _process_bytes(spec, fleet.policy_shape(agent).size)
    if available.device is None:
        needed, there, where = runs * each + processes, available.host, "memory"
    else:
        needed, there, where = runs * each, available.device, "device memory"
    if needed <= there:
        return
    room = there - (processes if available.device is None else 0)
    parts = [
        f"replay {gibibytes(runs * replay_bytes(spec, agent))}",
        f"networks {gibibytes(runs * learner_bytes(agent))}",
        f"processes {gibibytes(processes)}",
    ]
    raise TooLargeError(
        f"{runs} run{'s need' if runs > 1 else ' needs'} about {gibibytes(needed)} of {where} "
        f"({', '.join(parts)}), but {gibibytes(there)} are available: {_way_out(spec, room, each)}"
    )


def _process_bytes(spec: FleetSpec, policy_size: int) -> int:
    """Return the bytes of the trainer, its workers and the snapshot that is being evaluated."""
    chosen, evaluated = spec.settings.schedule.workers, len(spec.runs) * spec.tasks
    workers = (chosen or default_workers(len(spec.runs))) + min(chosen or cores(), evaluated)
    return _TRAINER_BYTES + _WORKER_BYTES * workers + 4 * evaluated * policy_size


def _way_out(spec: FleetSpec, room: int, each: int) -> str:
    if room >= each:
        return f"train at most {room // each} at once, or choose a smaller replay_capacity"
    capacity = largest_capacity(spec, room)
    if capacity:
        return f"one run would fit with replay_capacity {capacity}"
    return "not even one run without replay fits, so choose smaller networks (hidden, batch_size)"


def largest_capacity(spec: FleetSpec, room: int) -> int:
    """Return the largest replay_capacity with which one run fits into `room` bytes, or 0."""
    agent, _ = agent_of(spec)
    learner = learner_bytes(agent)
    chunk = spec.settings.schedule.chunk_steps
    low, high = 0, spec.settings.schedule.replay_capacity // chunk
    while low < high:
        middle = math.ceil((low + high) / 2)
        replay = replay_bytes(_with_capacity(spec, middle * chunk), agent)
        if with_spare(replay + learner) <= room:
            low = middle
        else:
            high = middle - 1
    return low * chunk


def _with_capacity(spec: FleetSpec, capacity: int) -> FleetSpec:
    schedule = dataclasses.replace(spec.settings.schedule, replay_capacity=capacity)
    return dataclasses.replace(spec, settings=dataclasses.replace(spec.settings, schedule=schedule))


def measure() -> Memory:
    """Return the memory that is available to this process and on the devices that JAX sees."""
    import jax

    devices = jax.local_devices()
    stats = [each.memory_stats() if each.platform != "cpu" else None for each in devices]
    limits = [each.get("bytes_limit") if each else None for each in stats]
    if all(limits):
        return Memory(available_host(), sum(limit for limit in limits if limit))
    return Memory(available_host())


def available_host() -> int:
    """Return the bytes of host memory that this process can still get, with its group's limit."""
    path = Path("/proc/meminfo")
    if not path.exists():
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    lines = dict(line.split(":") for line in path.read_text().splitlines())
    free = sum(1024 * int(lines[name].split()[0]) for name in ("MemAvailable", "SwapFree"))
    return min(free, _left_in_group())


def _left_in_group() -> int:
    """Return what the limit of this process's control group, such as a container, leaves."""
    left = 2**63
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes",
         "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):  # fmt: skip
        try:
            left = min(left, int(Path(limit).read_text()) - int(Path(used).read_text()))
        except (OSError, ValueError):  # no such group, or "max"
            continue
    return max(left, 0)
