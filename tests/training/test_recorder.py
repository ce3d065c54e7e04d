"""What is said of runs that fail, alone and together."""

from contextlib import closing

import numpy as np

from recall.callbacks import Callback
from recall.results.store import Store
from recall.training.progress import Progress
from recall.training.recorder import Recorder
from tests.factories.fleets import small_spec


class Failures(Callback):
    def __init__(self):
        self.found = {}

    def on_failure(self, name, step, reason):
        assert name not in self.found
        self.found[name] = (step, reason)


def test_runs_that_fail_in_the_same_update_point_at_the_machine(tmp_path):
    spec = small_spec(seeds=range(6))
    names = [run.name for run in spec.runs]
    callback, progress = Failures(), Progress()
    with closing(Store.create(tmp_path, spec.describe())) as store:
        recorder = Recorder(spec, store, callback)
        for _ in range(2):  # what has been told is not told again
            recorder.check_losses(progress, 100, np.array([-1, 70, 80, 70, -1, 70]))
        assert recorder.alive(progress) == [0, 4]
        recorder.check_losses(progress, 200, np.array([190, 70, 80, 70, 190, 70]))
        assert recorder.alive(progress) == []
        recorder.close()
    alone = "a loss was not finite in update 80"
    both = ", as in 2 other runs: the machine may be at fault"
    assert callback.found[names[2]] == (100, alone)
    for run in (1, 3, 5):
        assert callback.found[names[run]] == (100, f"a loss was not finite in update 70{both}")
    for run in (0, 4):
        step, reason = callback.found[names[run]]
        assert (step, reason.partition(", ")[2]) == (
            200,
            "as in 1 other run: the machine may be at fault",
        )
