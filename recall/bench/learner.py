"""Measure the learner's speed at the paper's sizes, and whether equal runs stay equal, bit by bit.

Every row has its own process, because a program that is compiled after others may be slower.
"""

import inspect
import time
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from recall.collect.transition import Columns
from recall.learn import fleet
from recall.learn.agent import Agent, LearnerState
from recall.methods import method_class
from recall.nets.arrays import Array
from recall.replay import buffer
from recall.replay.batch import ReplayView
from recall.replay.buffer import Replay
from recall.settings import (
    LearnerSettings,
    PlasticitySettings,
    PrecisionName,
    RemedyName,
    SacSettings,
)

CONTINUAL_WORLD = Columns(observation_size=12, action_size=4)
_REPEATS = 3
_STORED = 20_000  # transitions of each task
_MOST_QUEUED, _QUEUED_SECONDS = 20, 0.5  # bursts in a row, and how long they should take
SCHEDULING = "xla_gpu_command_buffer_scheduling_mode"
_TASKS = 3  # of equal runs


def paper_sized_agent(
    method_name: str, tasks: int, precision: PrecisionName, remedy: RemedyName = "none"
) -> Agent:
    """Return the agent of a sequence of Continual World's tasks at the paper's sizes."""
    settings = LearnerSettings(
        sac=SacSettings(precision=precision), plasticity=PlasticitySettings(remedy=remedy)
    )
    return Agent(method_class(method_name)(), settings, CONTINUAL_WORLD, tasks)


def made_up_replay(agent: Agent, runs: int) -> tuple[Replay, ReplayView]:
    """Return the replay of the last task with made-up transitions, as many of each task."""
    method, tasks, stored = agent.method, agent.tasks, _STORED
    kept = tasks - 1 if method.stores_old_data() else 0
    memory = min(stored, method.memory_per_task or stored)
    replay = buffer.init(CONTINUAL_WORLD, stored, kept, memory if kept else 0, runs)
    replay = jax.tree.map(
        lambda leaf: 0.5 * jax.random.normal(jax.random.PRNGKey(1), leaf.shape), replay
    )
    sizes, collected = jnp.full(tasks, memory), jnp.full(tasks, stored)
    view = ReplayView(jnp.asarray(tasks - 1), jnp.asarray(stored), sizes, collected, jnp.asarray(1))
    return replay, view


def measure(
    method_name: str, runs: int, tasks: int, precision: PrecisionName, remedy: RemedyName
) -> dict[str, Any]:
    """Measure bursts of 50 updates at the last task of `tasks`, on made-up transitions."""
    agent = paper_sized_agent(method_name, tasks, precision, remedy)
    replay, view = made_up_replay(agent, runs)
    groups = fleet.groups_of(agent, tasks - 1)
    updates = agent.settings.updates_per_burst
    first = jnp.asarray(0)
    state = fleet.init(agent, jnp.arange(runs))

    def seconds_per_burst(bursts: int) -> float:
        nonlocal state
        start = time.perf_counter()
        for _ in range(bursts):  # queued, as in a fleet, which also drops most metrics at once
            state, _ = fleet.burst(agent, state, replay, view, first, groups, updates)
        jax.block_until_ready(state)
        return (time.perf_counter() - start) / bursts

    seconds_per_burst(1)  # compiles
    queued = min(_MOST_QUEUED, max(1, round(_QUEUED_SECONDS / seconds_per_burst(1))))
    seconds = min(seconds_per_burst(queued) for _ in range(_REPEATS)) / updates
    return {
        "method": agent.method.name,
        "remedy": remedy,
        "runs": runs,
        "tasks": tasks,
        "ms_per_update": 1e3 * seconds,
        "run_updates_per_s": runs / seconds,
    }


def device() -> str:
    """Return the kind of this machine's accelerator."""
    return jax.devices()[0].device_kind


@jax.jit
def unequal_runs(state: LearnerState) -> Array:
    """Return which runs [run] differ from the first one in any bit of their state."""

    def differs(leaf: Array) -> Array:
        if jnp.issubdtype(leaf.dtype, jnp.floating):
            leaf = jax.lax.bitcast_convert_type(leaf, jnp.uint32)
        return jnp.any((leaf != leaf[:1]).reshape(leaf.shape[0], -1), axis=1)

    return jnp.any(jnp.stack([differs(leaf) for leaf in jax.tree.leaves(state)]), axis=0)


def train_replicas(
    runs: int, bursts: int, precision: PrecisionName, mode: str, unroll: int
) -> dict[str, Any]:
    """Train equal runs of RECALL for so many bursts of 50 updates, and compare them after each.

    The smallest race between kernels, or a fault of a shared GPU, shows as a run that differs.
    """
    agent = paper_sized_agent("recall", _TASKS, precision)
    one, view = made_up_replay(agent, 1)
    replay = jax.tree.map(lambda leaf: leaf.repeat(runs, axis=0), one)
    updates = agent.settings.updates_per_burst
    burst = jax.jit(
        partial(
            inspect.unwrap(fleet.burst),
            agent,
            groups=fleet.groups_of(agent, _TASKS - 1),
            updates=updates,
            unroll=unroll,
        ),
        donate_argnums=0,
        compiler_options=fleet.COMPILER_OPTIONS | {SCHEDULING: mode},
    )
    state = fleet.init(agent, jnp.zeros(runs, int))
    row = {"scheduling": mode, "unroll": unroll, "precision": precision}
    for number in range(bursts):
        state, _ = burst(state, replay, view, jnp.asarray(number * updates))
        unequal = int(unequal_runs(state).sum())
        failed = int((state.failed_at >= 0).sum())
        if unequal or failed:
            return row | {"updates": (number + 1) * updates, "unequal": unequal, "failed": failed}
    return row | {"updates": bursts * updates, "unequal": 0, "failed": 0}
