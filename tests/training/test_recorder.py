"""What is said of runs that fail, alone and together."""

import json
from contextlib import closing

import numpy as np
import pytest

from recall.runs.store import Store, read
from recall.training.callbacks import Callback
from recall.training.checkpoint import Progress
from recall.training.recorder import Recorder
from tests.factories.fleets import run, small_spec, start


class Failures(Callback):
    def __init__(self):
        self.found = {}

    def on_failure(self, name, step, reason):
        assert name not in self.found
        self.found[name] = (step, reason)


def told(tmp_path, spec, *failed_at):
    """What is told of the runs' failures, by run, if these are found one after the other."""
    callback, progress = Failures(), Progress()
    with closing(Store.create(tmp_path, spec.describe())) as store:
        recorder = Recorder(spec, store, callback)
        for number, found in enumerate(failed_at):
            recorder.check_losses(progress, 100 * number, np.array(found))
        recorder.close()
    return [callback.found.get(run.name) for run in spec.runs]


def test_runs_that_fail_in_the_same_update_point_at_the_machine(tmp_path):
    spec = small_spec(seeds=range(6))
    first = [-1, 70, 80, 70, -1, 70]
    # What has been told is not told again.
    found = told(tmp_path, spec, first, first, [190, 70, 80, 70, 190, 70])
    loss, machine = "a loss was not finite in update", "the machine may be at fault"
    assert found[2] == (0, f"{loss} 80")
    for index in (1, 3, 5):
        assert found[index] == (0, f"{loss} 70, as in 3 runs at once: {machine}")
    for index in (0, 4):
        assert found[index] == (200, f"{loss} 190, as in 2 runs at once: {machine}")


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
