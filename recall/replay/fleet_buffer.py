"""Jitted replay functions for a whole fleet, with a leading run axis and donated buffers."""

from functools import partial

import jax
import jax.numpy as jnp

from recall.nets.arrays import Array
from recall.replay import buffer
from recall.replay.buffer import Replay


@partial(jax.jit, donate_argnames=("replay",))
def append(replay: Replay, rows: Array, position: Array) -> Replay:
    """Write each run's chunk, rows [run, chunk, columns], at `position`."""
    return jax.vmap(buffer.append, in_axes=(0, 0, None))(replay, rows, position)


@partial(jax.jit, donate_argnames=("replay",))
def append_old(replay: Replay, rows: Array, task: Array, position: Array) -> Replay:
    """Write each run's chunk of a task other than the current one, at `position` of its ring."""
    return jax.vmap(buffer.append_old, in_axes=(0, 0, None, None))(replay, rows, task, position)


@partial(jax.jit, donate_argnames=("replay",))
def set_aside(replay: Replay, task: Array) -> Replay:
    """Copy D_new, slot by slot, to the ring of `task` in D_old, to which more will be appended."""
    return jax.vmap(lambda one: buffer.append_old(one, one.new, task, jnp.asarray(0)))(replay)
