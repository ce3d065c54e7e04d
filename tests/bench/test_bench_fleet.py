"""The fleets that the bench measures."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from recall.bench.fleet import (
    CHUNKS,
    acting_as_trained,
    bench_fleet,
    measure,
    sequence_of,
    spec_of,
    tables,
)
from recall.errors import BadValueError, UnknownNameError
from recall.learn import fleet
from recall.policies.policy import load_policy
from recall.settings import NetworkSettings
from recall.training.agents import agent_of
from recall.worlds.sequences import parse_sequence


def test_every_fleet_ends_with_the_same_task():
    for tasks in (1, 3, 20):
        names = parse_sequence(sequence_of(tasks, "stick-pull")).tasks
        assert (len(names), len(set(names)), names[-1]) == (tasks, min(tasks, 10), "stick-pull")


@pytest.mark.parametrize("method", ["recall", "cka_rl"])
def test_trained_policies_act(method):
    spec = spec_of(2, method, "default", 1, 3)
    agent, _ = agent_of(acting_as_trained(spec))
    state = fleet.init(agent, jnp.arange(2))
    for position, task in enumerate(spec.runs[0].tasks):
        acting = fleet.flat_policies(agent, state, jnp.asarray(position))
        layers = fleet.policy_shape(agent).layers(np.asarray(acting[1]))
        for name, trained in load_policy(task).layers.items():
            np.testing.assert_array_equal(layers[name], trained)


def test_evaluations_have_their_default_share():
    for chunks, episodes in ((CHUNKS, 10), (CHUNKS // 2, 5), (1, 1)):
        schedule = spec_of(2, "recall", "default", chunks, 3).settings.schedule
        assert schedule.evaluation_episodes == episodes


def test_impossible_fleets_are_refused():
    with pytest.raises(BadValueError, match="tasks 21: a number from 1 to 20"):
        bench_fleet((1,), tasks=(3, 21))
    with pytest.raises(BadValueError, match="must all be at least 1"):
        bench_fleet((0,))
    with pytest.raises(UnknownNameError, match="hammer"):
        bench_fleet((1,), last="hamer")


@pytest.mark.slow
def test_a_small_fleet_is_measured_from_end_to_end():
    spec = spec_of(1, "recall", "default", chunks=1, tasks=2)
    learner = dataclasses.replace(
        spec.settings.learner,
        network=NetworkSettings(hidden=(16, 16), head_layers=1),
        updates_per_burst=1,
    )
    spec = dataclasses.replace(spec, settings=dataclasses.replace(spec.settings, learner=learner))
    row = measure(spec, chunks=1)
    assert (row["runs"], row["method"], row["tasks"]) == (1, "recall", 2)
    for rate in ("steps_per_s", "learner_alone_per_s", "workers_alone_per_s"):
        assert row[rate] > 0
    ((shown,),) = tables({"rows": [row]})
    assert shown["steps_per_s"] == row["steps_per_s"]
