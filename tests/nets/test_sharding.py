"""Devices, made of one CPU, share the runs of a fleet and never talk to each other."""

import json
import os
import subprocess
import sys

import jax
import pytest

from recall.nets import sharding

# Runs in a process of its own: how many devices there are is settled when JAX starts.
PROGRAM = """
import json
import jax, jax.numpy as jnp
from recall.learn import fleet
from recall.nets import sharding
from recall.replay import buffer
from tests.factories.learners import COLUMNS, STORED, TASKS, make_agent, make_view

agent, runs = make_agent(), 8
state = sharding.shard(fleet.init(agent, jnp.arange(runs)))
replay = buffer.init(COLUMNS, STORED, TASKS - 1, STORED, runs, sharding.over_devices(runs))
given = agent, state, replay, make_view(1), jnp.asarray(3), fleet.groups_of(agent, 1), 3
burst = fleet.burst.lower(*given).compile().as_text()
kept = jax.tree.leaves((state, replay))
talking = ("all-reduce", "all-gather", "all-to-all", "collective-permute")
print(json.dumps({
    "used": sorted({len(leaf.sharding.device_set) for leaf in kept}),
    "parts": [list(part.data.shape) for part in replay.new.addressable_shards],
    "talk": [word for word in talking if word in burst],
}))
"""


@pytest.mark.slow
def test_devices_have_equal_parts_and_never_talk():
    """tests/training/test_two_devices.py trains on them."""
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"XLA_FLAGS": flags},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"used": [4], "parts": [[2, 40, 11]] * 4, "talk": []}


@pytest.mark.parametrize(
    ("runs", "used"), [(1, 1), (2, 2), (3, 3), (4, 4), (5, 1), (6, 3), (8, 4), (10, 2)]
)
def test_a_fleet_uses_the_most_devices_that_divide_its_runs(runs, used, monkeypatch):
    monkeypatch.setattr(jax, "local_devices", lambda: list(range(4)))
    assert len(sharding.devices_for(runs)) == used
