"""Evaluations run beside training, whenever they are finished, and records of every step."""

import json
import os
import signal
from types import SimpleNamespace

import pytest

from recall.collect.evaluation_pool import deal
from recall.collect.messages import Episode
from recall.runs.store import read
from recall.training.callbacks import Callback
from recall.training.evaluation import Evaluation
from recall.worlds.episodes import Outcome
from tests.factories.fleets import CrashError, go_on, left_by, run, small_spec, start


class Late(Callback):
    """Halts the workers that evaluate until training waits for them."""

    def __init__(self, crash_after=None):
        self.crash_after, self.trainer = crash_after, None
        self.started_at, self.reported, self.waited = 0, [], 0

    def _signal(self, number):
        for worker in self.trainer.evaluation.pool.process_ids():
            os.kill(worker, number)

    def on_evaluation_start(self, total_steps):
        self.started_at = total_steps
        if total_steps > 150:  # the workers exist from the first evaluation on
            self._signal(signal.SIGSTOP)

    def on_steps(self, total_steps):
        behind = total_steps - self.started_at
        if self.started_at > 150 and behind == self.crash_after:
            raise CrashError

    def on_activity(self, what):
        if what.startswith("waiting"):
            self.waited += 1
            self._signal(signal.SIGCONT)

    def on_evaluation(self, total_steps, records):
        self.reported.append((total_steps, self.trainer.total_steps - total_steps))


def watched(callback, folder, **changes):
    callback.trainer = start(small_spec(**changes), folder, callback)
    return callback


def test_training_waits_rather_than_leave_two_evaluations_behind(tmp_path, uninterrupted):
    callback = watched(Late(), tmp_path)
    run(callback.trainer)
    assert [step for step, _ in callback.reported] == [150, 300, 450, 600]
    assert dict(callback.reported)[300] == 150, "the next evaluation was due"
    assert callback.waited >= 3
    assert left_by(tmp_path) == uninterrupted


@pytest.mark.slow
def test_a_checkpoint_holds_an_evaluation_that_is_not_finished(tmp_path, uninterrupted):
    callback = watched(Late(crash_after=100), tmp_path, checkpoint_minutes=1e-9)
    with pytest.raises(CrashError):
        run(callback.trainer)
    assert [step for step, _ in callback.reported] == [150]
    trainer, complaints = go_on(tmp_path)
    assert complaints == []
    assert trainer.progress.steps > 0, "training is in the second task already"
    assert trainer.evaluation.pending.step == 300
    run(trainer)
    assert left_by(tmp_path) == uninterrupted


def test_the_workers_that_evaluate_give_way_to_others(tmp_path):
    trainer = start(small_spec(), tmp_path)
    try:
        trainer.evaluate()
        trainer.flush()
        own = os.getpriority(os.PRIO_PROCESS, 0)
        assert trainer.evaluation.finish()
        for process in trainer.evaluation.pool.process_ids():
            assert os.getpriority(os.PRIO_PROCESS, process) == min(own + 10, 19)
        for process in trainer.pool.process_ids():
            assert os.getpriority(os.PRIO_PROCESS, process) == own
        for process in (*trainer.evaluation.pool.process_ids(), *trainer.pool.process_ids()):
            assert os.getsid(process) == os.getsid(0), "niceness counts within a session only"
            assert os.getpgid(process) != os.getpgid(0), "Ctrl-C is for the trainer alone"
    finally:
        trainer.close()


@pytest.mark.parametrize(
    ("runs", "tasks", "workers", "shares"),
    [
        (2, 2, 2, [8, 8]),  # two batches each
        (1, 3, 2, [8, 4]),
        (1, 1, 3, [2, 1, 1]),  # too few batches: the episodes of one are divided
        (1, 2, 3, [4, 2, 2]),
    ],
)
def test_the_episodes_of_a_run_and_task_stay_together(runs, tasks, workers, shares):
    episodes = [
        Episode(run, task, False, (run, task, number))
        for number in range(4)
        for task in range(tasks)
        for run in range(runs)
    ]
    dealt = deal(episodes, workers)
    assert [len(part) for part in dealt] == shares
    assert sorted(index for part in dealt for index in part) == list(range(len(episodes)))


def test_an_evaluation_records_the_share_of_episodes_that_met_each_criterion():
    results = [
        Outcome(0, 5, 1.0, strict, False, False, {"success_v1": lax, "success_v2": strict})
        for lax, strict in ((True, False), (True, True), (False, False), (True, False))
    ]
    runs = [SimpleNamespace(tasks=("push",))]
    evaluation = Evaluation(runs, 100, {"stochastic": 4, "deterministic": 0}, [(0, 0)])
    (record,) = evaluation.records(results)
    assert (record["success"], record["success_v1"], record["success_v2"]) == (0.25, 0.75, 0.25)
    assert (record["last_success"], record["return"]) == (0.0, 1.0)


@pytest.mark.slow
def test_a_run_that_fails_before_an_evaluation_is_not_evaluated(tmp_path):
    """Even where no burst is recorded at that step."""

    class FailFirst(Callback):
        def on_steps(self, total_steps):
            if total_steps == 50:
                state = self.trainer.state
                self.trainer.state = state._replace(failed_at=state.failed_at.at[0].set(7))

        def on_evaluation(self, total_steps, records):
            evaluated[total_steps] = {record["run"] for record in records}

    evaluated: dict[int, set[int]] = {}
    callback = FailFirst()
    spec = small_spec(evaluate_every=100, record_every=300)
    callback.trainer = start(spec, tmp_path, callback)
    run(callback.trainer)
    assert evaluated[100] == {1}
    assert set(evaluated) == {100, 200, 300, 400, 500, 600}


@pytest.mark.slow
def test_the_last_episodes_of_a_task_are_recorded_before_the_next_task_starts(tmp_path):
    """An episode of point-rich pays a thousand times as much as one of point-poor."""
    spec = small_spec("fine_tuning", "point-rich,point-poor", steps_per_task=250, record_every=100)
    run(start(spec, tmp_path))
    lines = (tmp_path / "training.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines if '"episode_return"' in line]
    returns = {r["step"]: abs(r["episode_return"]) for r in records if r["run"] == 0}
    assert list(returns) == [100, 200, 250, 350, 450, 500]
    assert min(returns[step] for step in (100, 200, 250)) > 100 * max(
        returns[step] for step in (350, 450, 500)
    )


@pytest.mark.slow
def test_networks_are_not_measured_without_transitions_of_the_current_task(tmp_path):
    """Multi-task's last task is collected for last, and evaluations may come before that."""
    tasks = "point-rich,point-poor,point-slide"
    spec = small_spec("multi_task", sequence=tasks, evaluate_every=50)
    run(start(spec, tmp_path))
    trained = read(tmp_path)
    measured = [record["step"] for record in trained.training if "rank_q" in record]
    assert min(measured) == 150
    assert {record["step"] for record in trained.evaluations} >= {50, 100, 150}
