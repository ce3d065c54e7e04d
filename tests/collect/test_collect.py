"""Workers: what they roll is what one process would, whatever happens to them."""

import os
import signal
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import recall
from recall.callbacks import Callback
from recall.collect import crew as crew_module
from recall.collect.chunks import Chunks
from recall.collect.messages import EVALUATION, Episode, RunTasks
from recall.collect.noise import draw, draw_uniform
from recall.collect.policy import NumpyPolicy, PolicyShape
from recall.collect.pool import (
    ChunkRequest,
    Pool,
    TaskFailedError,
    WorkerDiedError,
)
from recall.errors import NoRunLeftError, RecallError
from recall.learn import fleet
from recall.results.store import read
from recall.settings import WorldSettings
from recall.training.agents import agent_of
from tests.factories.fleets import left_by, run, small_spec, start
from tests.factories.own_tasks import Broken, Dying, Raising, Spent
from tests.factories.processes import is_alive


@pytest.mark.parametrize("activation", ["relu", "leaky_relu"])
@pytest.mark.parametrize("sharing", ["shallow", "deep", "separate"])
def test_the_actor_in_numpy_is_the_actor_in_jax(activation, sharing):
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


@pytest.mark.parametrize("workers", [1, 3])
def test_the_number_of_workers_changes_nothing(tmp_path, uninterrupted, workers):
    run(start(small_spec(workers=workers), tmp_path))
    assert left_by(tmp_path) == uninterrupted


def test_whether_workers_or_the_learner_go_first_changes_nothing(
    tmp_path, uninterrupted, monkeypatch
):
    order_chunk = Pool.order_chunk

    def late(pool, requests):
        time.sleep(0.02)
        order_chunk(pool, requests)

    monkeypatch.setattr(Pool, "order_chunk", late)
    run(start(small_spec(), tmp_path))
    assert left_by(tmp_path) == uninterrupted


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
@pytest.mark.parametrize(("task", "threads"), [("peg-unplug-side", 2), ("push", 1)])
def test_a_worker_settles_the_next_hand_in_a_thread(task, threads):
    pool = Pool(
        [RunTasks(0, (task,))], WorldSettings(), PolicyShape(12, 4, (8,), "relu"), 5, 500, 1
    )
    try:
        pool.begin([0], [0])
        for step in (0, 5):  # a second answer means that what follows the first is done
            pool.order_chunk([ChunkRequest(0, step, None)])
            pool.wait_chunk()
        (worker,) = pool.process_ids()
        assert len(list(Path(f"/proc/{worker}/task").iterdir())) == threads
    finally:
        pool.close()


def test_threads_change_sooner_while_chunks_are_ordered():
    before = sys.getswitchinterval()
    chunks = Chunks(None)
    assert sys.getswitchinterval() < before / 10
    chunks.close()
    assert sys.getswitchinterval() == before


def test_an_order_that_fails_is_told_when_its_chunk_is_taken():
    class Unready:
        def __array__(self, dtype=None, copy=None):
            raise FloatingPointError("the device has no policies")

    pool, _ = small_pool("point-rich")
    chunks = Chunks(pool)
    try:
        pool.begin((0,), fresh=(0,))
        chunks.order([ChunkRequest(0, 0, Unready())])
        with pytest.raises(FloatingPointError, match="no policies"):
            chunks.take()
    finally:
        chunks.close()
        pool.close()


class KillWorkers(Callback):
    """Kills one worker while a chunk is rolled, and all that play episodes while they do."""

    def __init__(self):
        self.trainer, self.killed = None, 0

    def on_steps(self, total_steps):
        if total_steps in (100, 400):
            self._kill(self.trainer.pool.process_ids()[:1])

    def on_activity(self, what):
        if what.startswith("scoring"):
            self._kill(self.trainer.pool.process_ids())

    def on_evaluation_start(self, total_steps):
        if total_steps in (300, 450):
            self._kill(self.trainer.evaluation.process_ids())

    def _kill(self, workers):
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
        self.killed += len(workers)


def test_killed_workers_are_replaced_and_nothing_changes(tmp_path, uninterrupted):
    callback = KillWorkers()
    callback.trainer = start(small_spec(), tmp_path, callback)
    run(callback.trainer)
    assert callback.killed == 2 + 2 + 2 * 2
    # Two kills in a row may hit one worker before it was asked anything.
    restarts = callback.trainer.pool.restarts + callback.trainer.evaluation.restarts
    assert callback.killed - 2 <= restarts <= callback.killed
    assert left_by(tmp_path) == uninterrupted


def small_pool(task, **keywords) -> tuple[Pool, np.ndarray]:
    spec = small_spec("fine_tuning", [[task]], horizon_steps=20)
    agent, state_size = agent_of(spec)
    shape = fleet.policy_shape(agent)
    runs = [RunTasks(run.seed, run.tasks) for run in spec.runs]
    pool = Pool(runs, WorldSettings(horizon_steps=20), shape, 10, state_size, 2, **keywords)
    return pool, np.zeros((len(runs), shape.size), np.float32)


@pytest.mark.parametrize("killed", [False, True])
def test_two_chunks_may_be_ordered_at_a_time(killed):
    def rolled(ahead, kill=False):
        """Rows of six chunks, and the states after each, with up to `ahead` chunks ordered."""
        pool, policies = small_pool("point-rich")
        # Another policy in every chunk, so that one in the wrong slot is noticed.
        requests = [
            ChunkRequest(0, 10 * number, policies + 0.1 * number if number else None)
            for number in range(6)
        ]
        found = []
        try:
            pool.begin((0,), fresh=(0,))
            for request in requests[: ahead - 1]:
                pool.order_chunk([request])
            for number in range(6):
                for request in requests[number + ahead - 1 : number + ahead]:
                    pool.order_chunk([request])
                if kill and number in (1, 4):
                    for worker in pool.process_ids():
                        os.kill(worker, signal.SIGKILL)
                rows, ended = pool.wait_chunk()
                # What is collected meanwhile must not touch the states after this chunk.
                time.sleep(0.1 if ahead == 2 and not kill else 0.0)
                found.append((rows, ended, pool.states()))
            assert (pool.restarts > 0) == kill
            return found
        finally:
            pool.close()

    for one, two in zip(rolled(1), rolled(2, killed), strict=True):
        assert (one[0] == two[0]).all()
        assert one[1] == two[1]
        assert (one[2] == two[2]).all()


def test_closing_a_pool_ends_its_workers():
    pool, _ = small_pool("point-rich")
    workers = pool.process_ids()
    assert all(map(is_alive, workers))
    pool.close()
    assert not any(map(is_alive, workers))


def test_an_exception_in_a_task_is_told():
    pool, policies = small_pool(Raising)
    try:
        pool.begin((0,), fresh=(0,))
        pool.order_chunk([ChunkRequest(0, 0, policies)])
        with pytest.raises(
            TaskFailedError, match="RuntimeError in task Raising: the gripper fell off"
        ):
            pool.wait_chunk()
    finally:
        pool.close()


def test_a_worker_that_dies_every_time_is_not_started_forever():
    pool, policies = small_pool(Dying)
    try:
        pool.begin((0,), fresh=(0,))
        pool.order_chunk([ChunkRequest(0, 0, policies)])
        with pytest.raises(WorkerDiedError, match=r"while collecting transitions, .* code 7\."):
            pool.wait_chunk()
    finally:
        pool.close()


def test_a_worker_that_is_killed_every_time_says_what_helps(monkeypatch):
    monkeypatch.setattr(crew_module, "_RESTARTS_PER_ORDER", 0)
    pool, _ = small_pool("point-rich")
    try:
        for worker in pool.process_ids():
            os.kill(worker, signal.SIGKILL)
        with pytest.raises(WorkerDiedError) as caught:
            pool.begin((0,), fresh=(0,))
        told = str(caught.value)
        assert "starting tasks, the last time by SIGKILL, which the system sends when" in told
        assert "`--workers` of `recall train` and `recall evaluate`, or `workers` in the" in told
        assert told.endswith("`recall resume FOLDER`")
    finally:
        pool.close()


def test_a_policy_that_gives_no_number_acts_all_the_same_and_alone():
    def rolled(pool, policies):
        try:
            pool.begin((0,), fresh=(0,))
            pool.order_chunk([ChunkRequest(0, 0, policies)])
            return pool.wait_chunk()[0]
        finally:
            pool.close()

    pool, policies = small_pool("point-rich")
    healthy = rolled(pool, policies)
    pool, policies = small_pool("point-rich")
    policies[0, -1] = np.nan
    rows = rolled(pool, policies)
    assert np.isfinite(rows).all()
    assert (rows[0] != healthy[0]).any()
    assert (rows[1:] == healthy[1:]).all()


@pytest.mark.parametrize("colour", [0.0, 1.0])
def test_actions_are_made_of_the_noise_of_their_steps(colour):
    pool, policies = small_pool("point-rich", noise_colour=colour)
    columns = pool.columns
    try:
        pool.begin((0,), fresh=(0,))
        for first, given in [(0, None), (10, None), (20, policies), (30, policies)]:
            pool.order_chunk([ChunkRequest(0, first, given)])
            rows, _ = pool.wait_chunk()
            for run in range(len(rows)):
                _, action, *_ = columns.split(rows[run, 0])
                shape = action.shape
                drawn = (draw_uniform if given is None else draw)(
                    (run, 0), first, shape, colour, 20
                )
                # A policy of zeros has mean 0 and standard deviation 1.
                expected = drawn if given is None else np.tanh(drawn)
                assert np.allclose(action, expected, atol=1e-6), (first, run)
    finally:
        pool.close()


def test_episodes_do_not_touch_what_is_being_trained():
    pool, policies = small_pool("point-rich")
    try:
        pool.begin((0,), fresh=(0,))
        before = pool.states()
        episodes = [Episode(0, 0, False, (0, EVALUATION, number)) for number in range(5)]
        first = pool.play(policies, episodes)
        assert (pool.states() == before).all()
        # A result belongs to the episode's stream, whoever plays it and beside whichever others.
        assert pool.play(policies, episodes[::-1]) == first[::-1]
        assert pool.play(policies, episodes[2:3]) == first[2:3]
    finally:
        pool.close()


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
    failed = results.outcome["failed"]
    assert results.outcome["finished"]
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


@pytest.mark.parametrize("every", [{"record_every": 50}, {"evaluate_every": 50}])
def test_a_fleet_whose_runs_all_failed_stops_and_says_so(tmp_path, every):
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
    assert not results.outcome["finished"]
    assert results.outcome["failed"] == {run["name"]: 61 for run in results.runs}
    assert {record["step"] for record in results.training} == {50}
    assert all(callback.records), "a callback is never given an empty list"


def learnt(path):
    """The lines that tell of updates; evaluations leave lines of their own."""
    return [line for line in path.read_bytes().splitlines() if b"loss_q" in line]


def test_evaluating_more_often_changes_no_training(tmp_path, finished):
    run(start(small_spec(evaluate_every=50), tmp_path))
    trained, before = (learnt(folder / "training.jsonl") for folder in (tmp_path, finished))
    assert trained == before
    assert len(trained) >= 12
    often = (tmp_path / "evaluations.jsonl").read_bytes().splitlines()
    assert set((finished / "evaluations.jsonl").read_bytes().splitlines()) < set(often)
