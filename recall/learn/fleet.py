"""The learner of a fleet, jitted: many runs in lockstep, stacked on the run axis.

Every function takes and returns whole fleets. Agents that differ in scalars alone share one
compilation, and these may have a run axis [run]. The number of groups of old tasks is static; it
stays at the method's `max_old_tasks` after a few tasks. Buffers are donated, so arguments must not
be used afterwards.
"""

import platform
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from recall.collect.policy import PolicyShape
from recall.learn import plasticity as plasticity_of
from recall.learn import remedies
from recall.learn.agent import Agent, LearnerState
from recall.learn.method import merged
from recall.learn.plasticity import Plasticity
from recall.learn.sac import UpdateNoise, describe, update, update_noise
from recall.learn.turns import scan_in_turns
from recall.nets import optimiser, popart
from recall.nets.arrays import Array, Metrics
from recall.nets.heads import BatchLayout, Heads, head_of, is_head, take_heads
from recall.replay import buffer
from recall.replay.batch import Batch, ReplayView, Stored
from recall.replay.buffer import Replay

COMPILER_OPTIONS: dict[str, str] = {}
if jax.__version_info__ >= (0, 10):
    # Actor, critics and targets of an update are chains of small kernels that need not wait for
    # each other. By default a GPU runs them one after the other (docs/performance.md).
    COMPILER_OPTIONS["xla_gpu_command_buffer_scheduling_mode"] = "CONCURRENT"
if jax.__version_info__[:2] == (0, 10) and platform.machine() in ("aarch64", "arm64"):
    # XLA's newer CPU kernels for matrix products are slower at these sizes on ARM. On x86 they are
    # faster (docs/performance.md).
    COMPILER_OPTIONS["xla_cpu_experimental_ynn_fusion_type"] = ""
# Branches of a run's random key. Its updates use the branches from 0 on.
_KEEPING, _ENDING, _MEASURING = (np.uint32(2**32 - nth) for nth in (1, 2, 3))
T = TypeVar("T")


def groups_of(agent: Agent, task: int) -> int:
    """Return how many old tasks take part in one update of the task at this position."""
    if agent.method.sampling != "balanced" or not agent.method.stores_old_data():
        return 0
    return min(task, agent.method.max_old_tasks)


@jax.jit
def init(agent: Agent, seeds: Array) -> LearnerState:
    """Return the initial states of the runs with these seeds [run]."""
    return over_runs(Agent.init, agent, seeds)


@partial(
    jax.jit,
    static_argnames=("groups", "updates", "unroll"),
    donate_argnames=("state",),
    compiler_options=COMPILER_OPTIONS,
)
def burst(
    agent: Agent,
    state: LearnerState,
    replay: Replay,
    view: ReplayView,
    first_update: Array,
    groups: int,
    updates: int,
    unroll: int | None = None,
) -> tuple[LearnerState, Metrics]:
    """Carry out `updates` updates of every run and return the means of their metrics.

    Updates are numbered from `first_update` on, a multiple of `updates`. A burst consists of whole
    turns (`updates_per_turn`), or a turn of whole bursts. The loop's body holds `unroll` updates;
    None chooses what is fast on this device.
    """

    def one_run(agent: Agent, state: LearnerState, replay: Replay) -> tuple[LearnerState, Metrics]:
        numbers = first_update + jnp.arange(updates)
        drawn = jax.vmap(partial(update_noise, agent, groups, state.key))(numbers)
        named = list[Callable[[Array], Metrics]]()
        length = agent.settings.updates_per_turn

        def heads_of_turn(update: tuple[Array, UpdateNoise]) -> Heads:
            return agent.method.heads(view, agent.tasks, groups, update[0] // length)

        def step(
            state: LearnerState, one: tuple[Array, UpdateNoise], heads: Heads
        ) -> tuple[LearnerState, Array]:
            number, noise = one
            state, metrics = update(agent, state, replay, view, heads, number, noise)
            # Store one array of floats per update instead of a dozen arrays.
            row, back = ravel_pytree(jax.tree.map(lambda value: 1.0 * value, metrics))
            named.append(back)
            return state, row

        state, rows = scan_in_turns(
            step, state, (numbers, drawn), heads_of_turn, groups, length, unroll or _unrolled()
        )
        means = named[0](jnp.nanmean(rows, axis=0))

        def sample(key: Array) -> Batch:
            heads = agent.method.heads(view, agent.tasks, groups, first_update // length)
            bits = jax.random.bits(key, drawn.rows.shape[1:])
            return agent.method.sample(agent, state.method_state, replay, view, heads, bits)

        state, edited = remedies.end_burst(agent, state, sample, view.task, first_update, updates)
        return state, merged(means, describe(agent, state), edited)

    with _precision(agent):
        return over_runs(one_run, agent, state, replay)


def _precision(agent: Agent) -> AbstractContextManager[Any]:
    """Return the context in which matrix products are as precise as the settings ask for."""
    exact = agent.settings.sac.precision == "float32"
    return jax.default_matmul_precision("float32" if exact else None)


def _unrolled() -> int:
    """Return how many updates the loop's body holds.

    On a GPU the heads that one update writes are rounded for the next in the same kernels. A CPU
    gains nothing, and compiling takes longer.
    """
    return 2 if jax.default_backend() == "gpu" else 1


def over_runs(one_run: Callable[..., T], agent: Agent, *stacked: Any) -> T:
    """Map over the run axis of `stacked`, and of those scalars of the agent that have one.

    A single run is not vmapped, because a batch of one is slower.
    """
    values, constants = jax.tree.flatten(agent)

    def one(values: list[Any], *stacked: Any) -> Any:
        return one_run(jax.tree.unflatten(constants, values), *stacked)

    result: T
    if jax.tree.leaves(stacked)[0].shape[0] == 1:
        first = jax.tree.map(lambda leaf: leaf[0] if jnp.ndim(leaf) else leaf, (values, *stacked))
        result = jax.tree.map(lambda leaf: leaf[None], one(*first))
    else:
        axes = [0 if jnp.ndim(value) else None for value in values]
        result = jax.vmap(one, in_axes=(axes, *(0 for _ in stacked)))(values, *stacked)
    return result


@partial(jax.jit, donate_argnames=("replay",))
def archive(agent: Agent, state: LearnerState, replay: Replay, view: ReplayView) -> Replay:
    """Archive D_new at the end of a task, with the outputs of policies and critics, in D_old."""

    def one_run(agent: Agent, state: LearnerState, replay: Replay) -> Replay:
        key = jax.random.fold_in(jax.random.fold_in(state.key, _KEEPING), view.task)
        trainable, task = state.trainable, view.task
        actor = agent.method.actor_for_task(state.method_state, state.evaluated_actor, task)
        scale = agent.scale(trainable.popart["heads"])
        critic = take_heads(trainable.critic, task[None])

        def networks(observation: Array, action: Array) -> Stored:
            policy = agent.policy_of_task(actor, observation, task)
            q = agent.q(critic, observation, action, BatchLayout(observation.shape[0]))
            return Stored(policy, scale.sigma[task] * q + scale.mean[task])

        return buffer.archive(replay, view, networks, agent.columns, agent.n_step, key)

    with _precision(agent):
        return over_runs(one_run, agent, state, replay)


@partial(jax.jit, donate_argnames=("state",))
def start_task(agent: Agent, state: LearnerState, task: Array) -> LearnerState:
    """Start a task: the method's hook, the remedy's, and new optimisers if the method says so."""

    def one_run(agent: Agent, state: LearnerState) -> LearnerState:
        state = remedies.start_task(agent, agent.method.on_task_start(agent, state, task), task)
        return reset_optimisers(state) if agent.method.reset_optimiser else state

    return over_runs(one_run, agent, state)


@partial(jax.jit, donate_argnames=("state",))
def copy_best(agent: Agent, state: LearnerState, task: Array, best_heads: Array) -> LearnerState:
    """Copy head `best_heads` [run] (-1: none) into the head of `task` (best-return start)."""

    def one_run(agent: Agent, state: LearnerState, best: Array) -> LearnerState:
        return agent.method.on_copy(agent, copy_head(agent, state, best, task), best, task)

    return over_runs(one_run, agent, state, best_heads)


def copy_head(agent: Agent, state: LearnerState, source: Array, target: Array) -> LearnerState:
    """Copy the policy of one head to another, and the critics if the method says so.

    The temperature stays as it is. So do critics that are not copied, and their statistics: they
    have learned from the new task's first steps. Copied ones begin with new statistics. The
    optimisers of what is copied begin anew.
    """
    copied, old = source >= 0, state.trainable

    def copy(tree: Any) -> Any:
        def one(path: tuple[Any, ...], leaf: Array) -> Array:
            if not is_head(path):
                return leaf
            return leaf.at[target].set(leaf[jnp.where(copied, source, target)])

        return jax.tree_util.tree_map_with_path(one, tree)

    def begin(moments: Any, params: Any) -> Any:
        return jax.tree.map(
            lambda new, now: jnp.where(copied, new, now), optimiser.init(params), moments
        )

    new = old._replace(
        actor=copy(old.actor),
        averaged=copy(old.averaged),
        actor_moments=begin(old.actor_moments, old.actor),
    )
    if agent.method.copies == "best_head":
        at_target = copied & (jnp.arange(agent.tasks) == target)
        statistics = jax.tree.map(
            lambda new, now: jnp.where(at_target, new, now),
            popart.init(agent.tasks),
            old.popart["heads"],
        )
        new = new._replace(
            critic=copy(old.critic),
            target=copy(old.target),
            critic_moments=begin(old.critic_moments, old.critic),
            popart={"heads": statistics},
        )
    return state._replace(trainable=new)


def reset_optimisers(state: LearnerState) -> LearnerState:
    """Reset the moments and step counts of all optimisers."""
    old = state.trainable
    return state._replace(
        trainable=old._replace(
            actor_moments=optimiser.init(old.actor),
            critic_moments=optimiser.init(old.critic),
            alpha_moments=optimiser.init(old.log_alpha),
        )
    )


@partial(jax.jit, donate_argnames=("state",))
def end_task(agent: Agent, state: LearnerState, replay: Replay, view: ReplayView) -> LearnerState:
    """End a task: call the method's hook, which may draw from the task's transitions."""

    def one_run(agent: Agent, state: LearnerState, replay: Replay) -> LearnerState:
        def draw(size: int, key: Array) -> Batch:
            bits = jax.random.bits(key, (size,))
            return buffer.sample_new(replay, view, agent.columns, agent.n_step, bits)

        key = jax.random.fold_in(jax.random.fold_in(state.key, _ENDING), view.task)
        method = agent.method
        state = method.on_task_end(agent, state, view.task, draw, key)
        resets = method.reset_optimiser and method.retraining_updates
        return reset_optimisers(state) if resets else state

    with _precision(agent):
        return over_runs(one_run, agent, state, replay)


@jax.jit
def plasticity(
    agent: Agent, state: LearnerState, replay: Replay, view: ReplayView, step: Array
) -> Plasticity:
    """Return the plasticity measures of the current networks; nothing is changed."""

    def one_run(agent: Agent, state: LearnerState, replay: Replay) -> Plasticity:
        key = jax.random.fold_in(jax.random.fold_in(state.key, _MEASURING), step)
        bits = jax.random.bits(key, (plasticity_of.ROWS,))
        batch = buffer.sample_new(replay, view, agent.columns, agent.n_step, bits)
        return plasticity_of.measure(agent, state, batch, view.task)

    with jax.default_matmul_precision("float32"):
        return over_runs(one_run, agent, state, replay)


@partial(jax.jit, static_argnames=("collecting",))
def flat_policies(
    agent: Agent, state: LearnerState, task: Array, collecting: bool = False
) -> Array:
    """Return the parameters [run, size] that act on `task`, in the order of recall.collect.policy.

    With `collecting` these are the actor's own, otherwise those that are evaluated. Parameters
    that are not finite become zeros, so that a failed run can keep stepping.
    """

    def one_run(agent: Agent, state: LearnerState) -> Array:
        params = state.trainable.actor if collecting else state.evaluated_actor
        actor = agent.method.actor_for_task(state.method_state, params, task)
        head = head_of(actor["heads"], task)
        flat = jnp.concatenate([actor["trunk"], *(leaf.ravel() for leaf in jax.tree.leaves(head))])
        return jnp.nan_to_num(flat, posinf=0.0, neginf=0.0)

    return over_runs(one_run, agent, state)


def policy_shape(agent: Agent) -> PolicyShape:
    """Return the shape of the policies that workers act with."""
    columns, network = agent.columns, agent.settings.network
    return PolicyShape(
        columns.observation_size,
        columns.action_size,
        network.hidden,
        network.activation,
        agent.actor.shared_layers,
    )


def failures(failed_at: Array, names: list[str]) -> dict[str, int]:
    """Return the names of runs that met a non-finite number, with the update of the first."""
    found = np.asarray(failed_at)
    return {names[run]: int(found[run]) for run in np.flatnonzero(found >= 0)}
