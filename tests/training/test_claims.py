"""The paper's point, on pointworld: what each of three methods does to tasks that pay unequally.

Trained by the command, in processes of their own, which optimise more than the other tests: these
programs run for longer than they compile. RECALL is compiled as people have it.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

from recall.analysis import metrics
from recall.analysis.collection import gather
from recall.runs.store import read

pytestmark = pytest.mark.slow
SLIDE, RICH, POOR = "point-slide", "point-rich", "point-poor"  # rich pays a thousand times more
# Of a flag that comes twice, the last counts.
SOONER = f"{os.environ['XLA_FLAGS']} --xla_backend_optimization_level=1"


def run_fleet(method, tasks, steps, folder, flags=SOONER, seeds=3, evaluate_every=None):
    """Train by the command and return the folder's results."""
    options = {
        "method": [method],
        "sequence": [",".join(tasks)],
        "seeds": [str(seed) for seed in range(seeds)],
        "preset": ["quick"],
        "steps-per-task": [str(steps)],
        "evaluate-every": [str(evaluate_every or steps)],
        "out": [str(folder)],
    }
    words = [word for name, values in options.items() for word in (f"--{name}", *values)]
    subprocess.run(
        [sys.executable, "-m", "recall", "train", "--quiet", *words],
        check=True,
        env=os.environ | {"XLA_FLAGS": flags},
    )
    return read(folder)


def train(method, tasks, steps, folder, **options):
    """[run, task] success just learned, and at the end of all."""
    run_fleet(method, tasks, steps, folder, **options)
    curves = [run.curve() for run in gather(folder).runs]
    learned = [metrics.trained_successes(curve, window=1) for curve in curves]
    end = [metrics.final_successes(curve, window=1) for curve in curves]
    return np.array(learned), np.array(end)


def test_a_copied_policy_survives_the_start_of_its_task(tmp_path):
    """The same task twice: from the copy on the second head does what the first has learned."""
    results = run_fleet(
        "recall", (RICH, RICH), 2_500, tmp_path / "twice", flags="", evaluate_every=250
    )
    played = [record for record in results.evaluations if record["mode"] == "stochastic"]
    first = [r["success"] for r in played if r["step"] == 2_500 and r["position"] == 0]
    (copied,) = {record["step"] for record in results.training if "best_head" in record}
    second = [r["success"] for r in played if r["step"] > copied and r["position"] == 1]
    assert copied == 3_000
    assert len(second) == 24
    assert np.mean(first) >= 0.9
    assert min(np.mean(second[nth : nth + 3]) for nth in range(0, 24, 3)) >= 0.9


def test_fine_tuning_learns_the_first_task_and_forgets_it(tmp_path):
    # Not every run forgets, and which ones do hangs on rounding: hence more of them.
    learned, end = train("fine_tuning", (SLIDE, RICH), 2_000, tmp_path / "run", seeds=6)
    assert learned[:, 0].mean() >= 0.6
    assert end[:, 0].mean() <= learned[:, 0].mean() - 0.2


def test_perfect_memory_does_not_learn_small_rewards_after_large_ones(tmp_path):
    alone, _ = train("perfect_memory", (POOR,), 2_000, tmp_path / "alone")
    after, _ = train("perfect_memory", (RICH, POOR), 2_000, tmp_path / "after")
    assert alone[:, 0].mean() >= 0.7
    assert after[:, 1].mean() <= 0.3


def test_recall_learns_both_and_keeps_both(tmp_path):
    learned, end = train("recall", (RICH, POOR), 2_500, tmp_path / "run", flags="")
    assert learned.mean(axis=0) == pytest.approx(1.0, abs=0.2)
    assert end.mean(axis=0) == pytest.approx(1.0, abs=0.2)
