"""A small learner on made-up transitions, shared by the tests so that compilations are shared."""

import jax
import jax.numpy as jnp
import numpy as np

from recall.collect.transition import Columns
from recall.learn import fleet
from recall.learn.agent import Agent
from recall.learn.sac import update_noise
from recall.methods import Method, Recall
from recall.nets.heads import BatchLayout
from recall.nets.sharding import to_int32
from recall.replay import buffer
from recall.replay.batch import ReplayView
from recall.settings import LearnerSettings, NetworkSettings, SacSettings

COLUMNS = Columns(observation_size=3, action_size=2)
REWARD = COLUMNS.observation_size + COLUMNS.action_size  # its column
STORED = 40
TASKS = 4
NETWORK = NetworkSettings(hidden=(16, 16), head_layers=1)


def make_agent(method: Method | None = None, **sac) -> Agent:
    method = method or Recall(batch_size=8, old_batch_size=8)
    settings = LearnerSettings(
        network=NETWORK, sac=SacSettings(precision="float32", **sac), updates_per_burst=3
    )
    return Agent(method, settings, COLUMNS, TASKS)


def make_replay(runs: int, kept: int = TASKS - 1, seed: int = 0) -> buffer.Replay:
    replay = buffer.init(COLUMNS, STORED, kept, STORED, runs)
    keys = iter(jax.random.split(jax.random.PRNGKey(seed), 2))
    return jax.tree.map(lambda leaf: 0.5 * jax.random.normal(next(keys), leaf.shape), replay)


def make_view(task: int) -> ReplayView:
    sizes = to_int32([STORED] * TASKS)
    return ReplayView(to_int32(task), to_int32(STORED), sizes, sizes, to_int32(1))


def run_burst(agent, state, replay, task, updates=3, first=0, unroll=None):
    groups, view = fleet.groups_of(agent, task), make_view(task)
    return fleet.burst(agent, state, replay, view, to_int32(first), groups, updates, unroll)


def drawn(sample, replay, view, columns, n_step, *arguments):
    """What a function of recall.replay.buffer samples: one program, not one for each operation."""
    *static, bits = arguments
    return jax.jit(lambda *arrays: sample(*arrays[:2], columns, n_step, *static, arrays[2]))(
        replay, view, bits
    )


def sampled(agent, replay, task, key=9):
    """A batch of one run at `task`, the random numbers of its update, and its rows' weights."""
    groups, view, static = fleet.groups_of(agent, task), make_view(task), []
    heads = agent.method.heads(view, agent.tasks, groups, jnp.asarray(0))

    @jax.jit  # one program instead of one for each operation
    def draw(replay, view, key):
        noise = update_noise(agent, groups, key, jnp.asarray(0))
        batch = agent.method.sample(agent, (), replay, view, heads, noise.rows)
        weights = agent.method.row_weights(batch, jnp.asarray(task))
        if isinstance(batch.layout, BatchLayout):
            static.append(batch.layout)
        layout = None if static else batch.layout
        return batch._replace(heads=None, layout=layout), noise, weights

    batch, noise, weights = draw(replay, view, jax.random.PRNGKey(key))
    layout = static[0] if static else batch.layout
    return batch._replace(heads=heads, layout=layout), noise, weights


def one(tree):
    """The first run of a fleet's tree."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), tree)


def copied(tree):
    """Numbers that outlive the donation of their tree."""
    return jax.tree.map(np.array, tree)


def leaves_equal(a, b) -> bool:
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return all(np.array_equal(np.asarray(x), np.asarray(y)) for x, y in pairs)


def flat(heads, axes=1):
    """A tree of heads as one array; the first `axes` axes stay."""
    leaves = [np.reshape(leaf, (*leaf.shape[:axes], -1)) for leaf in jax.tree.leaves(heads)]
    return np.concatenate(leaves, axis=-1)
