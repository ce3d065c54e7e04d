"""The paper's point, on pointworld: what each of three methods does to tasks that pay unequally.

Trained by the command, in processes of their own: the tests' quick compiler makes slow programs.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

from recall.results import metrics
from recall.results.store import read

TASKS = ("point-slide", "point-rich", "point-poor")  # the second pays a thousand times more
STEPS = 2_000


def train(method, folder):
    """[run, task] success just learnt, and at the end of all."""
    options = {
        "method": [method],
        "sequence": [",".join(TASKS)],
        "seeds": ["0", "1", "2"],
        "preset": ["quick"],
        "steps-per-task": [str(STEPS)],
        "evaluate-every": [str(STEPS)],
        "out": [str(folder)],
    }
    words = [word for name, values in options.items() for word in (f"--{name}", *values)]
    subprocess.run(
        [sys.executable, "-m", "recall", "train", "--quiet", *words],
        check=True,
        env={name: value for name, value in os.environ.items() if name != "XLA_FLAGS"},
    )
    curves = metrics.curves(read(folder))
    learnt = [metrics.trained_successes(curve, window=1) for curve in curves]
    end = [metrics.final_successes(curve, window=1) for curve in curves]
    return np.array(learnt), np.array(end)


def test_fine_tuning_learns_the_first_task_and_forgets_it(tmp_path):
    learnt, end = train("fine_tuning", tmp_path / "run")
    assert learnt[:, 0].mean() >= 0.7
    assert end[:, 0].mean() <= 0.5


def test_perfect_memory_does_not_learn_small_rewards_after_large_ones(tmp_path):
    learnt, _ = train("perfect_memory", tmp_path / "run")
    assert learnt[:, 0].mean() >= 0.7, "the same reward, before the large one"
    assert learnt[:, 2].mean() <= 0.3


def test_recall_learns_all_and_keeps_all(tmp_path):
    learnt, end = train("recall", tmp_path / "run")
    assert learnt.mean(axis=0) == pytest.approx(1.0, abs=0.2)
    assert end.mean(axis=0) == pytest.approx(1.0, abs=0.2)
