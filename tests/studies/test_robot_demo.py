"""The demo on robots, at a small size and on pointworld: training, table, film and continuing."""

import pytest

from recall.config.presets import PRESETS
from recall.runs.store import read
from recall.studies.robot_demo import PLAN, RobotPlan, make_film, print_table, run_robots
from tests.factories.fleets import CHANGES

SMALL = RobotPlan(
    tasks=("point-rich", "point-poor"), methods=("recall",), seeds=(0, 1), changes=CHANGES
)


@pytest.mark.slow
def test_the_demo_trains_shows_and_films_and_does_not_train_again(tmp_path, capsys):
    (scores,) = run_robots(tmp_path, SMALL)
    at_the_end = {
        (record["run"], record["position"]): record["success"]
        for record in read(tmp_path / "recall").evaluations
        if record["step"] == 600 and record["mode"] == "stochastic"
    }
    expected = [(at_the_end[0, task] + at_the_end[1, task]) / 2 for task in (0, 1)]
    assert scores.final.mean(axis=0).tolist() == expected
    print_table([scores], SMALL)
    shown = " ".join(capsys.readouterr().out.split())  # long titles are wrapped
    assert "mean of 2 seeds" in shown
    assert "RECALL" in shown
    made = make_film(tmp_path, SMALL)
    assert made.path.parent == tmp_path
    assert made.path.stat().st_size > 1_000
    assert [(take.task, take.when) for take in made.takes] == [
        ("point-rich", "before"),
        ("point-rich", "after"),
        ("point-poor", "before"),
        ("point-poor", "after"),
    ]
    records = (tmp_path / "recall" / "training.jsonl").stat()
    (again,) = run_robots(tmp_path, SMALL)
    assert again.final.tolist() == scores.final.tolist()
    assert (tmp_path / "recall" / "training.jsonl").stat().st_mtime_ns == records.st_mtime_ns


def test_the_plan_is_the_one_that_was_measured():
    for method in PLAN.methods:
        spec = PLAN.spec(method)
        assert [run.tasks for run in spec.runs] == [("handle-press-side", "window-close")]
        assert spec.settings.learner.network.hidden == PRESETS["laptop"].settings["hidden"]
