"""Several devices, made of one CPU, train what one trains and never talk to each other."""

import json
import os
import subprocess
import sys

import pytest

# Runs in a process of its own: how many devices there are is settled when JAX starts.
PROGRAM = """
import json, sys
import jax, jax.numpy as jnp, numpy as np
from recall.replay import buffer
from recall.collect.transition import Columns
from recall.nets import sharding
from recall.learn import fleet
from recall.replay import history
from recall.learn.agent import Agent
from recall.methods import method_class
from recall.settings import LearnerSettings, NetworkSettings
from recall.replay.batch import ReplayView

RUNS, STORED, COLUMNS = 8, 64, Columns(3, 2)
network = NetworkSettings(hidden=(8, 8), head_layers=1)
method = method_class("recall")(batch_size=8, old_batch_size=8, memory_per_task=None)
agent = Agent(method, LearnerSettings(network=network), COLUMNS, tasks=2)
rows = np.random.default_rng(0).normal(size=(RUNS, STORED, COLUMNS.width)).astype(np.float32)
one, both = jnp.asarray([STORED, 0]), jnp.asarray([STORED, STORED])
first = ReplayView(jnp.asarray(0), jnp.asarray(STORED), 0 * one, one, jnp.asarray(1))
second = ReplayView(jnp.asarray(1), jnp.asarray(STORED), one, both, jnp.asarray(1))

def train(place, layout):
    state = place(fleet.init(agent, jnp.arange(RUNS)))
    replay = buffer.init(COLUMNS, STORED, 1, STORED, RUNS, layout)
    replay = history.append(replay, place(rows), jnp.asarray(0))
    replay = fleet.archive(agent, state, replay, first)
    state = fleet.start_task(agent, state, jnp.asarray(1))
    state = fleet.copy_best(agent, state, jnp.asarray(1), jnp.zeros(RUNS, jnp.int32))
    given = agent, state, replay, second, jnp.asarray(3)
    burst = fleet.burst.lower(*given, fleet.groups_of(agent, 1), 5).compile()
    state, metrics = burst(*given)
    return state, replay, metrics, burst.as_text()

one = train(lambda tree: jax.tree.map(jnp.array, tree), None)
many = train(sharding.shard, sharding.over_devices(RUNS))

def apart(ours, theirs):
    # The largest difference, in units of the larger of a number and 1.
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    return float(np.max(np.abs(ours - theirs) / np.maximum(np.abs(ours), 1.0), initial=0.0))

talking = ("all-reduce", "all-gather", "all-to-all", "collective-permute")
print(json.dumps({
    "devices": {runs: len(sharding.devices_for(runs)) for runs in (1, 2, 3, 4, 5, 6, 8, 10, 12)},
    "used": sorted({len(leaf.sharding.device_set) for leaf in jax.tree.leaves(many[:2])}),
    "parts": [list(part.data.shape) for part in many[1].new.addressable_shards],
    "apart": max(map(apart, jax.tree.leaves(one[:3]), jax.tree.leaves(many[:3]))),
    "talk": [word for word in talking if word in many[3]],
}))
"""


@pytest.mark.slow
def test_several_devices_train_what_one_trains_and_never_talk():
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"XLA_FLAGS": flags},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["devices"] == {
        "1": 1,
        "2": 2,
        "3": 3,
        "4": 4,
        "5": 1,
        "6": 3,
        "8": 4,
        "10": 2,
        "12": 4,
    }
    assert told["used"] == [4]
    assert told["parts"] == [[2, 64, 11]] * 4
    assert told["talk"] == []
    # The same but for rounding: a product over other shapes is summed in another order.
    assert told["apart"] < 1e-4
