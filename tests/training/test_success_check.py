"""Tasks that do not report success are found before training, and the user is told once."""

import io

import pytest
from rich.console import Console

import recall
from recall.config.spec import make_spec
from recall.errors import RecallError
from recall.runs.description import read_description
from recall.settings import Settings
from recall.training.agents import tasks_without_success
from recall.training.display import Display
from tests.factories.environments import Point, Raising


class Telling(Point):
    def step(self, action):
        *result, info = super().step(action)
        return *result, info | {"is_success": self.steps > 3}


class Late(Telling):
    """Reports success from the first step on, and fails at its sixth."""

    def step(self, action):
        if self.steps == 5:
            raise RuntimeError("the gripper fell off")
        return super().step(action)


def test_only_tasks_that_say_nothing_are_found():
    settings = Settings(world=recall.settings.WorldSettings(horizon_steps=10))
    for tasks, silent in (
        ([Point, Telling], ["Point"]),
        (["gym:Pendulum-v1"], ["gym:Pendulum-v1"]),
        (["point-rich", "push"], []),
    ):
        assert tasks_without_success(make_spec("fine_tuning", tasks, (0,), settings)) == silent


def test_an_environment_that_fails_is_refused_before_anything_is_written(tmp_path):
    for kind in (Raising, Late):
        with pytest.raises(RecallError, match=rf"task {kind.__name__}: .*Error.*the gripper"):
            recall.train("fine_tuning", [Point, kind], out=tmp_path / "run", horizon_steps=10)
        assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_the_user_is_told_once_and_progress_shows_returns(tmp_path):
    told = io.StringIO()
    recall.train(
        "fine_tuning", [Point, Telling], (0,), tmp_path / "a", preset="quick",
        callback=Display(Console(file=told)), hidden=(8,), steps_per_task=100, evaluate_every=50,
        update_after=50, random_steps=50, record_every=50, batch_size=8, horizon_steps=10,
        evaluation_episodes=1, workers=1,
    )  # fmt: skip
    text = told.getvalue()
    assert text.count("Point: one random episode of each showed no") == 1
    assert "success or return at step 100: Point 10, Telling " in text
    assert "Telling 100%" in text
    assert read_description(tmp_path / "a")["without_success"] == ["Point"]
    with pytest.raises(RecallError):
        recall.resume(tmp_path / "a")
