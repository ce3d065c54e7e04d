"""Replay of a whole fleet, jitted: the run axis in front, the buffers donated."""

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
    """Write each run's chunk of another task than the current one, at `position` of its ring."""
    return jax.vmap(buffer.append_old, in_axes=(0, 0, None, None))(replay, rows, task, position)


@partial(jax.jit, donate_argnames=("replay",))
def set_aside(replay: Replay, task: Array) -> Replay:
    """End of a task that is collected for again: D_new, slot by slot, becomes its ring in D_old."""
    return jax.vmap(lambda one: buffer.append_old(one, one.new, task, jnp.asarray(0)))(replay)
