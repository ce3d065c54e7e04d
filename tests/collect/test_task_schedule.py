"""Courses: who is collected for when, and fleets that collect for several tasks."""

import os
import signal
from collections import Counter

import jax
import numpy as np
import pytest

from recall.collect.noise import draw
from recall.collect.policy import NumpyPolicy
from recall.collect.task_schedule import TaskSchedule
from recall.learn import fleet
from recall.replay.buffer import sample_uniform
from recall.replay.log import TransitionLog
from recall.runs.store import read
from recall.training.callbacks import Callback
from recall.worlds.registry import horizon_steps
from tests.factories.fleets import CrashAt, CrashError, go_on, left_by, run, small_spec, start

TASKS, STEPS, CHUNK = 3, 200, 50


@pytest.mark.parametrize("collects", ["current", "seen", "all"])
def test_what_is_collected_is_the_sum_of_the_chunks(collects):
    task_schedule = TaskSchedule(collects, TASKS, STEPS, CHUNK)
    counted: Counter = Counter()
    total = 0
    for stage in range(task_schedule.stages):
        for _ in range(task_schedule.steps_per_stage // CHUNK):
            tasks = task_schedule.chunk(stage, total)
            assert set(tasks) <= set(task_schedule.played(stage))
            assert len(tasks) <= task_schedule.most_at_once
            assert len(task_schedule.played(stage)) <= task_schedule.max_live_tasks
            assert task_schedule.current(stage) in task_schedule.played(stage)
            counted.update(dict.fromkeys(tasks, CHUNK))
            total += CHUNK
            assert [task_schedule.collected(task, total) for task in range(TASKS)] == [
                counted[task] for task in range(TASKS)
            ]
    assert total == task_schedule.total_steps == TASKS * STEPS
    again = {"current": (0, 0, 0), "seen": (2, 1, 0), "all": (0, 0, 0)}[collects]
    assert tuple(counted[task] - STEPS for task in range(TASKS)) == tuple(STEPS * n for n in again)
    assert sorted(
        task for stage in range(task_schedule.stages) for task in task_schedule.learned(stage)
    ) == [*range(TASKS)]


def changes_of(method):
    """Small rings that go round, and in `online` every chunk with the policy of now."""
    changes = {"replay_capacity": 150, "random_steps": 100, "update_after": 100}
    mode = {"replay_mode": "online", "policy_lag": 0} if method == "perfect_memory" else {}
    return changes | mode


def trainer_of(method, folder, callback=None, **changes):
    return start(small_spec(method, **changes_of(method), **changes), folder, callback)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """By method, the folder of a fleet that was never interrupted."""
    folders = {}
    for method in ("multi_task", "perfect_memory"):
        folders[method] = tmp_path_factory.mktemp(method)
        run(trainer_of(method, folders[method]))
    return folders


class KillAWorker(Callback):
    """In the middle of a chunk."""

    def on_steps(self, total_steps):
        if total_steps in (150, 450, 500):  # not later: the last chunk may be collected already
            os.kill(self.trainer.pool.process_ids()[0], signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["multi_task", "perfect_memory"])
@pytest.mark.parametrize("crash_at", [9, 20])  # in the first half; in the second
def test_crashes_dead_workers_and_their_number_change_nothing(tmp_path, whole, method, crash_at):
    with pytest.raises(CrashError):
        run(trainer_of(method, tmp_path, CrashAt(crash_at), workers=1, checkpoint_minutes=1e-9))
    callback = KillAWorker()
    trainer, complaints = go_on(tmp_path, callback)
    callback.trainer = trainer
    assert complaints == []
    run(trainer)
    assert trainer.pool.restarts >= 1
    assert left_by(tmp_path) == left_by(whole[method])
    steps = {(r["step"], r["position"]) for r in read(tmp_path).evaluations}
    assert steps == {(step, task) for step in (150, 300, 450, 600) for task in (0, 1)}


@pytest.mark.slow
def test_a_stage_that_starts_from_a_checkpoint_goes_on_with_the_old_environments(tmp_path, whole):
    """The end of a task is where old environments go on and the new one starts."""

    class CrashAtEnd(Callback):
        def on_task_end(self, task):
            raise CrashError

    with pytest.raises(CrashError):
        run(trainer_of("perfect_memory", tmp_path, CrashAtEnd()))
    trainer, _ = go_on(tmp_path)
    assert (trainer.progress.stage, trainer.progress.steps) == (1, 0)
    run(trainer)
    assert left_by(tmp_path) == left_by(whole["perfect_memory"])


def rings(trainer, log_folder):
    """What the log says that the ring of each task holds, [run, slot, column]."""
    trainer.history.sync(trainer.progress.stage)
    schedule, width = trainer.schedule, trainer.agent.columns.width
    log = TransitionLog(log_folder, len(trainer.names), schedule.chunk_steps, width)
    return [log.read(task, trainer.history.capacity) for task in range(trainer.spec.tasks)]


def test_multi_task_learns_every_task_from_the_start_and_alike(tmp_path):
    trainer = trainer_of("multi_task", tmp_path)
    try:
        trainer.start_stage()
        before = {task: trainer.policies(task) for task in (0, 1)}
        for _ in range(5):
            trainer.advance()
        view, width = trainer.view(), trainer.agent.columns.width
        assert (int(view.task), int(view.new_size), int(view.old_sizes[0])) == (1, 100, 150)
        heads = fleet.policy_shape(trainer.agent).size
        for task in (0, 1):
            moved = before[task] != trainer.policies(task)
            assert moved.any(axis=1).all()
            assert moved[:, heads - 10 :].any(axis=1).all(), "its own head too"
        trainer.advance()
        one, other = rings(trainer, tmp_path)
        np.testing.assert_array_equal(trainer.history.replay.old[:, 0, :, :width], one)
        np.testing.assert_array_equal(trainer.history.replay.new, other)

        first = jax.tree.map(lambda leaf: leaf[0], trainer.history.replay)
        bits = jax.random.bits(jax.random.PRNGKey(0), (4000,))
        batch = sample_uniform(
            first, trainer.view(), trainer.agent.columns, trainer.agent.n_step, bits
        )
        shares = np.bincount(np.asarray(batch.layout.head_of_row), minlength=2) / 4000
        np.testing.assert_allclose(shares, 0.5, atol=0.05)
        for task, ring in ((0, one), (1, other)):
            mine = np.asarray(batch.layout.head_of_row) == task
            stored = {row.tobytes() for row in ring[0, :, :6]}
            assert {row.tobytes() for row in np.asarray(batch.observation)[mine]} <= stored
    finally:
        trainer.close()


def assert_acted(trainer, rows, task, first, policies):
    """`rows` [run, slot, column] are those that these policies collect from step `first` on."""
    for number, one in enumerate(trainer.spec.runs):
        observation, action, *_ = trainer.agent.columns.split(rows[number])
        policy = NumpyPolicy(fleet.policy_shape(trainer.agent), policies[number])
        horizon = horizon_steps(one.tasks[task], trainer.spec.settings.world)
        noise = draw((one.own_seed, task), first, (50, 2), trainer.schedule.noise_colour, horizon)
        expected = [policy.act(o, n) for o, n in zip(observation, noise, strict=True)]
        np.testing.assert_allclose(action, expected, rtol=1e-4, atol=1e-5)


def test_online_replay_is_of_the_current_policy_and_goes_round(tmp_path):
    trainer = trainer_of("perfect_memory", tmp_path)
    try:
        while trainer.progress.stage == 0:
            trainer.start_stage()
            trainer._train_stage()
            trainer._end_stage()
        trainer.start_stage()
        width = trainer.agent.columns.width
        old = np.asarray(trainer.history.replay.old)[:, 0]
        np.testing.assert_array_equal(old[..., :width], trainer.history.replay.new)
        for chunk in range(3):
            policies = [
                np.asarray(fleet.flat_policies(trainer.agent, trainer.state, task, collecting=True))
                for task in (0, 1)
            ]
            first = 300 + 50 * chunk
            trainer.advance()
            now = np.asarray(trainer.history.replay.old)[:, 0]
            slots = np.arange(first, first + 50) % 150
            fresh = np.isin(np.arange(150), slots)
            np.testing.assert_array_equal(now[:, ~fresh], old[:, ~fresh])
            assert (now[:, fresh] != old[:, fresh]).any(axis=2).all()
            assert not now[..., width:].any(), "no policy is stored with them"
            assert_acted(trainer, now[:, slots], 0, first, policies[0])
            old = now
        # The new task's own policy acts too, after 100 random steps.
        assert_acted(trainer, np.asarray(trainer.history.replay.new)[:, 100:], 1, 100, policies[1])
        # Since the record at step 100 each run has ended one episode of the task that it learns.
        assert sorted(run for run, *_ in trainer.progress.episodes) == [0, 1]
        # Bursts of 5 at steps 100 to 300 of the first task, and at 100 and 150 of the second.
        assert trainer.progress.updates == 5 * (5 + 2)
        assert int(trainer.view().old_sizes[0]) == 150
        np.testing.assert_array_equal(now[..., :width], rings(trainer, tmp_path)[0])
    finally:
        trainer.close()
