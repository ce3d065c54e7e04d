"""The demo: its plans, and a small one that is trained and filmed."""

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

import recall
from recall.config.presets import PRESETS
from recall.methods import METHODS
from recall.studies.demo import POINTWORLD, ROBOTS, Plan, show, train
from recall.training.callbacks import Callback
from tests.factories.fleets import CHANGES

NORMALISED = replace(POINTWORLD, changes=POINTWORLD.changes | {"normalise_targets": True})


@pytest.mark.parametrize("plan", [POINTWORLD, NORMALISED, ROBOTS])
def test_the_plans_can_be_trained_by_every_method(plan):
    for name in METHODS:
        spec = plan.spec(name)
        assert spec.method.normalise_targets == (
            name == "recall" or plan.changes.get("normalise_targets", False)
        )
        assert [run.tasks for run in spec.runs] == [plan.tasks] * len(plan.seeds)
    assert (
        ROBOTS.spec("recall").settings.learner.network.hidden
        == (PRESETS["laptop"].settings["hidden"])
    )


@pytest.mark.slow
def test_a_demo_trains_shows_and_films_and_does_not_train_again(tmp_path):
    plan = Plan("", ("point-rich", "point-poor"), ("recall",), (0, 1), "quick", changes=CHANGES)
    console = Console(file=StringIO(), width=80)
    train(tmp_path, plan, Callback, console)
    records = (tmp_path / "recall" / "training.jsonl").stat()
    for _ in range(2):
        train(tmp_path, plan, Callback, console)
        show(tmp_path, plan, console)
    assert (tmp_path / "recall" / "training.jsonl").stat().st_mtime_ns == records.st_mtime_ns
    alone = recall.frame(tmp_path / "single")
    assert set(alone["sequence"]) == {"point-rich", "point-poor"}
    shown = console.file.getvalue()
    for named in ("forward", "RECALL", "hammer", "average_success", "index.html"):
        assert named in shown
    for name in ("demo", "robot"):
        (made,) = tmp_path.glob(f"{name}.*")
        assert made.stat().st_size > 1_000
