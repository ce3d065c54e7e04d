"""Workers: what they roll is what one process would, whatever happens to them."""

import os
import signal
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import recall
from recall.collect.policy import NumpyPolicy
from recall.collect.pool import Pool
from recall.errors import NoRunLeftError, RecallError
from recall.learn import fleet
from recall.runs.store import read
from recall.training.agents import agent_of
from recall.training.callbacks import Callback
from tests.factories.environments import Broken, Spent
from tests.factories.fleets import left_by, run, small_spec, start


@pytest.mark.parametrize(
    ("sharing", "activation"),
    [("shallow", "leaky_relu"), ("deep", "relu"), ("separate", "leaky_relu")],
)
def test_the_actor_in_numpy_is_the_actor_in_jax(sharing, activation):
    spec = small_spec(activation=activation, actor_heads=sharing, hidden=(32, 16, 32))
    agent, _ = agent_of(spec)
    state = fleet.init(agent, jnp.array([3, 4]))
    observations = np.random.default_rng(0).normal(size=(20, 6)).astype(np.float32) * 3
    for task in range(2):
        flat = np.asarray(fleet.flat_policies(agent, state, jnp.asarray(task)))
        for run_index in range(2):
            policy = NumpyPolicy(fleet.policy_shape(agent), flat[run_index])
            actor = jax.tree.map(lambda leaf, run=run_index: leaf[run], state.trainable.actor)
            expected = agent.policy_of_task(actor, jnp.asarray(observations), task)
            got = [policy.outputs(observation) for observation in observations]
            np.testing.assert_allclose([g[0] for g in got], expected[0], rtol=2e-5, atol=2e-6)
            np.testing.assert_allclose([g[1] for g in got], expected[1], rtol=2e-5, atol=2e-6)
            assert (policy.act(observations[0], None) == np.tanh(got[0][0])).all()


def test_neither_the_number_of_workers_nor_who_goes_first_changes_anything(
    tmp_path, uninterrupted, monkeypatch
):
    order = Pool._order

    def late(pool, requests):
        time.sleep(0.02)
        order(pool, requests)

    monkeypatch.setattr(Pool, "_order", late)
    run(start(small_spec(workers=3), tmp_path))
    assert left_by(tmp_path) == uninterrupted


class KillWorkers(Callback):
    """Kills one worker while a chunk is rolled, an old head's too, and all that evaluate."""

    def __init__(self):
        self.trainer, self.killed = None, 0

    def on_steps(self, total_steps):
        if total_steps in (100, 350, 400):
            self._kill(self.trainer.pool.process_ids()[:1])

    def on_evaluation_start(self, total_steps):
        if total_steps in (300, 450):
            self._kill(self.trainer.evaluation.pool.process_ids())

    def _kill(self, workers):
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
        self.killed += len(workers)


def test_killed_workers_are_replaced_and_nothing_changes(tmp_path, uninterrupted):
    callback = KillWorkers()
    callback.trainer = start(small_spec(workers=2), tmp_path, callback)
    run(callback.trainer)
    assert callback.killed == 3 + 2 * 2
    # Two kills in a row may hit one worker before it was asked anything.
    restarts = callback.trainer.pool.restarts + callback.trainer.evaluation.pool.restarts
    assert callback.killed - 2 <= restarts <= callback.killed
    assert left_by(tmp_path) == uninterrupted


class Remember(Callback):
    def __init__(self):
        self.failures, self.records = [], []

    def on_training(self, records):
        self.records.append(records)

    def on_failure(self, name, step, reason):
        self.failures.append((name, step, reason))


def test_a_run_whose_task_gives_no_number_fails_alone(tmp_path):
    callback = Remember()
    spec = small_spec(
        "fine_tuning", [Broken], seeds=(0, 1, 2, 3), horizon_steps=20, steps_per_task=200
    )
    run(start(spec, tmp_path, callback))
    results = read(tmp_path)
    failed = results.outcome.failed
    assert results.outcome.finished
    assert 0 < len(failed) < 4, "the seeds must give both kinds of run"
    assert {name: step for name, step, _ in callback.failures} == failed
    for name, step, reason in callback.failures:
        assert name.startswith("fine_tuning-Broken-seed")
        assert step > 40
        assert step % 20 == 1, "an episode's first step"
        assert reason == "Broken returned a non-finite number"
    last = {record["run"] for record in results.evaluations if record["step"] == 200}
    names = [run["name"] for run in results.runs]
    assert {names[index] for index in last} == set(names) - set(failed)
    losses = [r["loss_q"] for r in results.training if r["step"] == 200 and "loss_q" in r]
    assert losses
    assert None not in losses


@pytest.mark.slow
@pytest.mark.parametrize("every", [{"record_every": 50}, {"evaluate_every": 50}])
def test_a_fleet_whose_runs_failures_in_stops_and_says_so(tmp_path, every):
    callback = Remember()
    lengths = {"horizon_steps": 20, "steps_per_task": 200, "record_every": 200} | every
    spec = small_spec("fine_tuning", [Spent], seeds=(0, 1), **lengths)
    with pytest.raises(NoRunLeftError, match=r"every run failed: .*seed1 at step 61\.") as caught:
        run(start(spec, tmp_path, callback))
    assert "Spent returned a number that is not finite: repair" in str(caught.value)
    assert "learning_rate" not in str(caught.value)
    with pytest.raises(RecallError, match=r"cannot be continued: every run .*seed1 at step 61\."):
        recall.resume(tmp_path, functions={"Spent": Spent})
    assert {step for _, step, _ in callback.failures} == {61}
    results = read(tmp_path)
    assert not results.outcome.finished
    assert results.outcome.failed == {run["name"]: 61 for run in results.runs}
    assert {record["step"] for record in results.training} == {50}
    assert all(callback.records), "a callback is never given an empty list"


def learned(path):
    """The lines that tell of updates; evaluations leave lines of their own."""
    return [line for line in path.read_bytes().splitlines() if b"loss_q" in line]


def test_evaluating_more_often_changes_no_training(tmp_path, finished):
    run(start(small_spec(evaluate_every=50), tmp_path))
    trained, before = (learned(folder / "training.jsonl") for folder in (tmp_path, finished))
    assert trained == before
    assert len(trained) >= 12
    often = (tmp_path / "evaluations.jsonl").read_bytes().splitlines()
    assert set((finished / "evaluations.jsonl").read_bytes().splitlines()) < set(often)
