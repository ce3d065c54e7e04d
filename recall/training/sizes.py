"""Device memory of a fleet: bytes for each run, from the shapes of the arrays that it holds."""

import math

import jax
import jax.numpy as jnp

from recall.config.spec import FleetSpec
from recall.errors import BadValueError
from recall.learn.agent import Agent
from recall.learn.fleet import policy_shape
from recall.replay.history import rows_held
from recall.training.agents import agent_of

_FLOAT_BYTES = 4
# The state itself, the new state that an update writes, and gradients.
_STATES = 3
# At the end of a task, two copies of its rows exist briefly beside D_old: the plain rows, and the
# rows with the stored policy.
_COPIES = 2
# Forward and backward passes through the actor, two critics and two targets.
_PASSES = 16
# Allowance for allocators, which round up and leave gaps.
_SPARE = 1.1


def replay_bytes(spec: FleetSpec, agent: Agent) -> int:
    """Return the bytes of D_new and D_old of one run, and of copying one into the other."""
    columns, schedule = agent.columns, spec.settings.schedule
    capacity, memory = rows_held(
        schedule.replay_capacity, spec.steps_per_task, spec.method.memory_per_task
    )
    kept = spec.tasks - 1 if spec.method.stores_old_data() else 0
    copied = _COPIES * memory if kept else 0
    numbers = capacity * columns.width + (kept * memory + copied) * columns.old_width
    return _FLOAT_BYTES * numbers


def learner_bytes(agent: Agent) -> int:
    """Return the bytes of networks, optimisers, the method's state and all work arrays."""
    state = jax.eval_shape(agent.init, jax.ShapeDtypeStruct((), jnp.int32))
    numbers = sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(state))
    method, hidden = agent.method, agent.settings.network.hidden
    rows = method.batch_size + (method.old_batch_size if method.sampling == "balanced" else 0)
    # The policies of an evaluation are still there while the next burst runs.
    policies = agent.tasks * policy_shape(agent).size
    return _FLOAT_BYTES * (_STATES * numbers + _PASSES * rows * sum(hidden) + policies)


def run_bytes(spec: FleetSpec) -> int:
    """Return the bytes of device memory for each run of the fleet."""
    agent, _ = agent_of(spec)
    return with_spare(replay_bytes(spec, agent) + learner_bytes(agent))


def with_spare(size: int) -> int:
    """Return a number of bytes with the allowance for allocators."""
    return math.ceil(_SPARE * size)


def gibibytes(size: float) -> str:
    """Return a number of bytes as text with a unit from B to TiB."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{size:.3g} {unit}"


def check_fits(what: str, needed: int, there: int) -> None:
    """Raise an error if a single run does not fit, however the study is split into fleets."""
    if needed > there:
        raise BadValueError(
            f"one run of {what} needs {gibibytes(needed)} of device memory, but only "
            f"{gibibytes(there)} are available; use a smaller --scale, fewer tasks or a "
            "memory_per_task"
        )
