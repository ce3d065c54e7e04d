"""What a fleet asks of a device: bytes for each run, from the shapes of what it holds there."""

import math

import jax
import jax.numpy as jnp

from recall.config.spec import FleetSpec, agent_of
from recall.errors import BadValueError
from recall.learn.agent import Agent

_FLOAT_BYTES = 4
# The state itself, the one that an update writes beside it, and gradients.
_STATES = 3
# At the end of a task its rows, and these with the stored policy, stand beside D_old for a moment.
_COPIES = 2
# Passes through actor, two critics and two targets, forwards and backwards.
_PASSES = 16
# Allocators round up and leave gaps.
_SPARE = 1.1


def replay_bytes(spec: FleetSpec, agent: Agent) -> int:
    """D_new and D_old of one run, and what copying the one into the other takes."""
    columns, schedule = agent.columns, spec.settings.schedule
    capacity = min(schedule.replay_capacity, spec.steps_per_task)
    wanted = spec.method.memory_per_task
    memory = capacity if wanted is None else min(wanted, capacity)
    kept = spec.tasks - 1 if spec.method.stores_old_data() else 0
    copied = _COPIES * memory if kept else 0
    numbers = capacity * columns.width + (kept * memory + copied) * columns.old_width
    return _FLOAT_BYTES * numbers


def learner_bytes(agent: Agent) -> int:
    """Networks, optimisers, the method's own state, and what an update computes with."""
    state = jax.eval_shape(agent.init, jax.ShapeDtypeStruct((), jnp.int32))
    numbers = sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(state))
    method, hidden = agent.method, agent.settings.network.hidden
    rows = method.batch_size + (method.old_batch_size if method.sampling == "balanced" else 0)
    return _FLOAT_BYTES * (_STATES * numbers + _PASSES * rows * sum(hidden))


def run_bytes(spec: FleetSpec) -> int:
    """Device memory for each run of the fleet."""
    agent, _ = agent_of(spec)
    return math.ceil(_SPARE * (replay_bytes(spec, agent) + learner_bytes(agent)))


def gibibytes(size: float) -> str:
    """As people say it."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{size:.3g} {unit}"


def check_fits(what: str, needed: int, there: int) -> None:
    """Refuse what no splitting into fleets could make fit."""
    if needed > there:
        raise BadValueError(
            f"one run of {what} needs {gibibytes(needed)} of device memory and there are "
            f"{gibibytes(there)}; a smaller --scale, fewer tasks or a memory_per_task need less"
        )
