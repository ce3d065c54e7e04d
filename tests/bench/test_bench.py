"""The benches in small: what they measure, not how fast it is."""

import dataclasses
import json
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.bench import apart
from recall.bench.fleet import CHUNKS, acting_as_trained, measure, spec_of
from recall.bench.learner import paper_sized_agent, train_replicas, unequal_runs
from recall.bench.worlds import measure as measure_worlds
from recall.cli import main
from recall.errors import RecallError
from recall.learn import fleet
from recall.policies.policy import load_policy
from recall.settings import NetworkSettings
from recall.training.agents import agent_of

LAST = "stick-pull"


@pytest.mark.parametrize("method", ["recall", "cka_rl"])
def test_trained_policies_act(method):
    spec = spec_of(2, method, "default", 1, 3, 1, LAST)
    agent, _ = agent_of(acting_as_trained(spec))
    state = fleet.init(agent, jnp.arange(2))
    for position, task in enumerate(spec.runs[0].tasks):
        acting = fleet.flat_policies(agent, state, jnp.asarray(position))
        layers = fleet.policy_shape(agent).layers(np.asarray(acting[1]))
        for name, trained in load_policy(task).layers.items():
            np.testing.assert_array_equal(layers[name], trained)


def test_a_fleet_ends_with_the_measured_task_and_evaluations_have_their_default_share():
    for chunks, episodes, tasks in ((CHUNKS, 10, 1), (CHUNKS // 2, 5, 3), (1, 1, 20)):
        spec = spec_of(2, "recall", "default", chunks, tasks, 1, LAST)
        assert spec.settings.schedule.evaluation_episodes == episodes
        names = spec.runs[0].tasks
        assert (len(names), len(set(names)), names[-1]) == (tasks, min(tasks, 10), LAST)


def test_a_process_that_is_killed_is_told_with_a_way_out():
    with pytest.raises(RecallError, match=r"^9 could not be measured.*--runs"):
        apart(os._exit, 9)


@pytest.mark.slow
def test_a_small_fleet_is_measured_from_end_to_end():
    spec = spec_of(1, "recall", "default", 1, 2, 1, LAST)
    learner = dataclasses.replace(
        spec.settings.learner,
        network=NetworkSettings(hidden=(16, 16), head_layers=1),
        updates_per_burst=1,
    )
    spec = dataclasses.replace(spec, settings=dataclasses.replace(spec.settings, learner=learner))
    row = measure(spec, chunks=1)
    assert (row["runs"], row["tasks"]) == (1, 2)
    for rate in ("steps_per_s", "learner_alone_per_s", "workers_alone_per_s"):
        assert row[rate] > 0


@pytest.mark.slow
def test_the_learner_has_a_row_for_each_method_and_number_of_runs(capsys):
    main(["bench", "learner", "--runs", "1", "--tasks", "1", "--methods", "fine_tuning", "--json"])
    result = json.loads(capsys.readouterr().out)
    assert result["device"] == jax.devices()[0].device_kind
    [row] = result["rows"]
    assert (row["method"], row["runs"], row["tasks"]) == ("fine_tuning", 1, 1)
    assert row["run_updates_per_s"] == pytest.approx(1e3 / row["ms_per_update"])


@pytest.mark.slow
def test_every_library_is_measured():
    result = measure_worlds(200, print, tasks=("window-close",), cores=1, slots=1)
    task, pooled = json.loads(json.dumps(result))["rows"]
    assert (task["task"], pooled["task"]) == ("window-close", "all, pooled")
    for name in ("recall_1_core", "recall_1_cores", "metaworld_1_core", "metaworld_async_1"):
        assert task[name] == pytest.approx(pooled[name])
        assert task[name] > 0
    ratio = pooled["recall_1_core"] / pooled["metaworld_1_core"]
    assert result["ratio_to_metaworld_on_1_core"] == pytest.approx(ratio)
    assert 0 < result["memory_per_slot_mb"] < 10


def test_one_bit_of_one_run_is_seen_and_equal_nans_are_not():
    state = fleet.init(paper_sized_agent("recall", 2, "default"), jnp.zeros(3, int))
    assert not unequal_runs(state).any()
    actor = state.trainable.actor["trunk"]
    bits = np.asarray(actor).view(np.uint32).copy()
    bits[1, 5] ^= 1

    def with_actor(trunk):
        changed = state.trainable.actor | {"trunk": trunk}
        return state._replace(trainable=state.trainable._replace(actor=changed))

    assert unequal_runs(with_actor(jnp.asarray(bits.view(np.float32)))).tolist() == [0, 1, 0]
    assert not unequal_runs(with_actor(actor.at[:, 7].set(jnp.nan))).any()


@pytest.mark.slow
@pytest.mark.parametrize(("unroll", "mode"), [(1, "LHS"), (2, "CONCURRENT")])
def test_equal_runs_stay_equal(unroll, mode):
    row = train_replicas(runs=2, bursts=1, precision="bfloat16", mode=mode, unroll=unroll)
    assert (row["updates"], row["unequal"], row["failed"]) == (50, 0, 0)
