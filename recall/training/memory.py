"""Memory that a fleet needs, estimated from array shapes, and the memory that there is."""

import contextlib
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp

from recall.config.spec import FleetSpec
from recall.errors import RecallError
from recall.learn.agent import Agent, LearnerState
from recall.learn.fleet import policy_shape
from recall.learn.remedies import begin_turn
from recall.replay.history import rows_held
from recall.runs.wording import counted
from recall.training.agents import agent_of, collecting_workers, evaluation_workers

_WORKER_BYTES = 64 << 20  # with robot tasks, 37 MB of private memory were measured on Linux
_TRAINER_BYTES = 512 << 20  # with JAX and compiled programs, without a fleet's arrays: an estimate
_FLOAT_BYTES = 4
_STATES = 3  # the state itself, the new state that an update writes, and gradients
_COPIES = 2  # of a task's rows beside D_old at its end: plain, and with the stored policy
_PASSES = 16  # forward and backward passes through the actor, two critics and two targets
_SPARE = 1.1  # for allocators, which round up and leave gaps


class TooLargeError(RecallError):
    """A fleet needs more memory than there is."""


class Memory(NamedTuple):
    """Bytes of memory that are available."""

    host: int
    device: int | None = None  # of all accelerators together; None if the fleet trains on the CPU


@contextlib.contextmanager
def explain_out_of_memory(way_on: Callable[[], str]) -> Iterator[None]:
    """Raise an error that says what to do if a device has no memory left; it ends in `way_on()`."""
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
    """Raise an error if the fleet, or its processes alone, need more memory than is available."""
    available = available or measure()
    check_processes(spec, available)
    kind, left = "device memory", available.device
    if left is None:
        kind, left = "memory", available.host - _process_bytes(spec)
    if (needed := len(spec.runs) * run_bytes(spec)) > left:
        raise TooLargeError(
            f"{counted(len(spec.runs), 'run')} need about {gibibytes(needed)} of {kind}, but "
            f"{gibibytes(left)} are available, enough for {left // run_bytes(spec)}: train fewer "
            "at once, or choose fewer workers, a smaller replay_capacity or smaller networks"
        )


def check_processes(spec: FleetSpec, available: Memory) -> None:
    """Raise an error if the host has no room for the processes alone."""
    if (needed := _process_bytes(spec)) > available.host:
        raise TooLargeError(
            f"the trainer and its workers need about {gibibytes(needed)} of memory, but "
            f"{gibibytes(available.host)} are available: choose fewer workers (to resume a fleet, "
            "in its run.json), or train fewer runs at once"
        )


def _process_bytes(spec: FleetSpec) -> int:
    """Return the bytes of the trainer, its workers and the policies that both share."""
    agent, _ = agent_of(spec)
    schedule = spec.settings.schedule
    workers = collecting_workers(spec) + evaluation_workers(spec)
    # Those of the snapshot, and of chunks that are ordered.
    ordered = (1 + schedule.policy_lag) * spec.task_schedule.most_at_once
    policies = len(spec.runs) * (spec.tasks + schedule.environments * ordered)
    shared = _FLOAT_BYTES * policies * policy_shape(agent).size
    return _TRAINER_BYTES + _WORKER_BYTES * workers + shared


def run_bytes(spec: FleetSpec) -> int:
    """Return the bytes of device memory for each run of the fleet."""
    agent, _ = agent_of(spec)
    return math.ceil(_SPARE * (replay_bytes(spec, agent) + learner_bytes(agent, spec.tasks)))


def replay_bytes(spec: FleetSpec, agent: Agent) -> int:
    """Return the bytes of D_new and D_old of one run, and of copying one into the other."""
    capacity, memory = rows_held(
        spec.replay_capacity, spec.learner_schedule.steps_per_task, spec.method.memory_per_task
    )
    kept = agent.tasks - 1 if spec.method.stores_old_data() else 0
    old_rows = (kept + _COPIES) * memory if kept else 0
    return _FLOAT_BYTES * (capacity * agent.columns.width + old_rows * agent.columns.old_width)


def learner_bytes(agent: Agent, tasks: int) -> int:
    """Return the bytes of networks, optimisers, states and work arrays; `tasks` are evaluated."""

    def in_a_turn(seed: jax.Array) -> LearnerState:
        state = agent.init(seed)
        return state._replace(remedy=begin_turn(state.remedy, state.trainable))

    state = jax.eval_shape(in_a_turn, jax.ShapeDtypeStruct((), jnp.int32))
    numbers = sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(state))
    method, hidden = agent.method, agent.settings.network.hidden
    rows = method.batch_size + (method.old_batch_size if method.sampling == "balanced" else 0)
    # The policies of an evaluation are still there while the next burst runs.
    policies = tasks * policy_shape(agent).size
    batches = 2 if agent.settings.plasticity.remedy == "c_chain" else 1
    return _FLOAT_BYTES * (_STATES * numbers + batches * _PASSES * rows * sum(hidden) + policies)


def gibibytes(size: float) -> str:
    """Return a number of bytes as text with a unit from B to TiB."""
    power = min(4, int(math.log2(max(size, 1)) // 10))
    return f"{size / 1024**power:.3g} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


def measure() -> Memory:
    """Return the memory that is available to this process and on the devices that JAX sees."""
    devices = jax.local_devices()
    stats = [each.memory_stats() if each.platform != "cpu" else None for each in devices]
    limits = [each.get("bytes_limit") if each else None for each in stats]
    return Memory(available_host(), sum(filter(None, limits)) if all(limits) else None)


def available_host() -> int:
    """Return the bytes of host memory that this process can still get, with its group's limit."""
    path = Path("/proc/meminfo")
    if not path.exists():
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    lines = dict(line.split(":") for line in path.read_text().splitlines())
    free = sum(1024 * int(lines[name].split()[0]) for name in ("MemAvailable", "SwapFree"))
    new, old = Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/memory")
    left = min(
        left_in(new, "memory.max", "memory.current", ""),
        left_in(old, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
    )
    return min(free, max(left, 0))


def left_in(group: Path, limit: str, used: str, prefix: str) -> int:
    """Return what the limit in a control group's folder leaves, or a huge number without one."""
    try:
        numbers = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        # Cached files count as used, although they give way.
        cached = sum(int(numbers[prefix + name]) for name in ("inactive_file", "active_file"))
        return int((group / limit).read_text()) - int((group / used).read_text()) + cached
    except (OSError, ValueError, KeyError):  # no such group, or "max"
        return 2**63
