"""Memory that a fleet needs, estimated and compared with what there is before training starts."""

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from recall.config.spec import FleetSpec
from recall.errors import RecallError
from recall.learn import fleet
from recall.training.agents import agent_of
from recall.training.host_memory import available_host
from recall.training.sizes import gibibytes, learner_bytes, replay_bytes, run_bytes, with_spare
from recall.training.worker_counts import collecting_workers, evaluation_workers

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


@contextlib.contextmanager
def told_if_full(way_on: Callable[[], str]) -> Iterator[None]:
    """Raise an error that says what to do if a device has no memory left; it ends in `way_on()`.

    The estimate does not know of other processes: each reserves most of a GPU for itself.
    """
    import jax

    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        first = str(error).partition("\n")[0]
        if "RESOURCE_EXHAUSTED" not in first:
            raise
        raise TooLargeError(
            f"the device has no memory left ({first}). Train fewer runs at once; or, if other "
            "processes use the same GPU, let each reserve less, as in "
            f"XLA_PYTHON_CLIENT_MEM_FRACTION=0.3. {way_on()}"
        ) from error


def check_memory(spec: FleetSpec, available: Memory | None = None) -> None:
    """Raise an error with what would fit if the fleet needs more memory than is available."""
    available = available or measure()
    check_processes(spec, available)
    if available.device is None:
        _check_runs(spec, available.host, _process_bytes(spec))
    else:
        _check_runs(spec, available.device)


def check_processes(spec: FleetSpec, available: Memory) -> None:
    """Raise an error if the host has no room for the processes alone."""
    needed, there = _process_bytes(spec), available.host
    if needed <= there:
        return
    arrays = len(spec.runs) * run_bytes(spec) if available.device is None else 0
    workers = most_workers(spec, there - arrays) or most_workers(spec, there)
    nothing_fits = "not even one worker fits, so free some memory or train fewer runs at once"
    raise TooLargeError(
        f"the trainer and its workers need about {gibibytes(needed)} of memory, but "
        f"{gibibytes(there)} are available: " + (_fewer(workers) if workers else nothing_fits)
    )


def _check_runs(spec: FleetSpec, there: int, processes: int = 0) -> None:
    """Raise an error if the runs do not fit: on the device, or on the host beside `processes`."""
    agent, _ = agent_of(spec)
    runs, each = len(spec.runs), run_bytes(spec)
    needed = runs * each + processes
    if needed <= there:
        return
    parts = {"replay": runs * replay_bytes(spec, agent), "networks": runs * learner_bytes(agent)}
    workers = 0
    if processes:
        parts["processes"] = processes
        # Fewer workers are the first choice, because they do not change results.
        workers = most_workers(spec, there - runs * each)
    listed = ", ".join(f"{name} {gibibytes(size)}" for name, size in parts.items())
    way_out = _way_out(spec, there - processes, each)
    raise TooLargeError(
        f"{runs} run{'s need' if runs > 1 else ' needs'} about {gibibytes(needed)} of "
        f"{'memory' if processes else 'device memory'} ({listed}), but {gibibytes(there)} are "
        f"available: {_fewer(workers) if workers else way_out}"
    )


def _fewer(workers: int) -> str:
    return f"choose workers {workers} (to resume a fleet, in its run.json)"


def _process_bytes(spec: FleetSpec) -> int:
    """Return the bytes of the trainer, its workers and the policies that both share."""
    workers = collecting_workers(spec) + evaluation_workers(spec)
    return _without_workers(spec) + _WORKER_BYTES * workers


def _without_workers(spec: FleetSpec) -> int:
    """Return the bytes of the trainer, the snapshot and the policies of chunks that are ordered."""
    agent, _ = agent_of(spec)
    schedule = spec.settings.schedule
    ordered = (1 + schedule.policy_lag) * spec.task_schedule.most_at_once
    policies = len(spec.runs) * (spec.tasks + schedule.environments * ordered)
    return _TRAINER_BYTES + 4 * policies * fleet.policy_shape(agent).size


def most_workers(spec: FleetSpec, room: int) -> int:
    """Return the largest `workers` with which all processes fit into `room` bytes, or 0.

    So many workers collect, and as many evaluate, but at most one for each run and task.
    """
    processes = (room - _without_workers(spec)) // _WORKER_BYTES
    return max(processes // 2, processes - len(spec.runs) * spec.tasks, 0)


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
        replay = replay_bytes(spec.with_schedule(replay_capacity=middle * chunk), agent)
        if with_spare(replay + learner) <= room:
            low = middle
        else:
            high = middle - 1
    return low * chunk


def measure() -> Memory:
    """Return the memory that is available to this process and on the devices that JAX sees."""
    import jax

    devices = jax.local_devices()
    stats = [each.memory_stats() if each.platform != "cpu" else None for each in devices]
    limits = [each.get("bytes_limit") if each else None for each in stats]
    if all(limits):
        return Memory(available_host(), sum(limit for limit in limits if limit))
    return Memory(available_host())
