"""recall.train, recall.resume, recall.evaluate, and the folder they share."""

import json
import os
import re
import shutil
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import gymnasium
import pytest

import recall
from recall.api import Stopped
from recall.errors import BadValueError, RecallError, UnknownNameError
from recall.files.fleet_layout import Status, status
from recall.methods import METHODS
from recall.runs.fleet_folder import FolderInUseError
from recall.training.callbacks import Callback
from recall.worlds.simulator import TaskFailedError
from tests.factories.environments import Point
from tests.factories.fleets import CHANGES, SEQUENCE, CrashAt, CrashError, left_by
from tests.factories.policies import write_untrained


def train(out, callback=None, **keywords):
    given = {"sequence": SEQUENCE, "seeds": (0, 1)} | CHANGES | keywords
    return recall.train(out=out, callback=callback or Callback(), **given)


def test_training_from_python_gives_the_results(tmp_path, uninterrupted):
    results = train(tmp_path / "run")
    assert left_by(tmp_path / "run") == uninterrupted
    assert results.outcome.finished
    assert [run["seed"] for run in results.runs] == [0, 1]
    assert results.description["git"] is None or len(results.description["git"]["commit"]) == 40
    for again, message in (
        ({"workers": 2}, "already holds this run, finished"),
        (
            {"seeds": (5,)},
            "a different run: recall on point-rich,point-poor, seeds 0 1, with name ",
        ),
        ({"batch_size": 17}, "seeds 0 1, with batch_size 16 and not 17. Choose"),
    ):
        with pytest.raises(FolderInUseError, match=message):
            train(tmp_path / "run", **again)
    with pytest.raises(BadValueError, match="is finished: recall on point-rich,point-poor"):
        recall.resume(tmp_path / "run")


def test_an_interrupted_fleet_is_resumed_not_started_again(stopped, uninterrupted):
    with pytest.raises(
        FolderInUseError, match=r"unfinished: continue it with `recall resume .*run`"
    ):
        train(stopped)
    recall.resume(stopped, callback=Callback())
    assert left_by(stopped) == uninterrupted


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["raises", "reports"])
def test_a_task_that_fails_in_training_tells_how_to_continue(tmp_path, fault):
    """The call that the message prints continues the fleet once the environment is repaired."""
    repaired = tmp_path / "repaired"

    class Later(Point):
        def step(self, action):
            *answer, info = super().step(action)
            if self.steps > 120 and not repaired.exists():
                if fault == "raises":
                    raise RuntimeError("the robot is on fire")
                info = {"success": "no"}
            return *answer, info

    told = {"raises": "Later: .*the robot is on fire", "reports": "Later returned 'no'"}[fault]
    with pytest.raises(TaskFailedError, match=rf"{told}.*Repair the env") as caught:
        train(
            tmp_path / "run", sequence=[Later], seeds=(0,), method="fine_tuning", horizon_steps=10
        )
    (call,) = re.findall(r"Repair the environment, then continue with `(.*)`$", str(caught.value))
    assert call == f"recall.resume('{tmp_path / 'run'}', functions={{'Later': Later}})"
    repaired.touch()
    assert eval(call, {"recall": recall, "Later": Later}).outcome.finished


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"thesis.tex": "all my work"}, "holds no fleet"),
        ({"ewc/run.json": "{}"}, r"holds no fleet.*/NAME"),
        ({"lock": "precious"}, "holds no fleet"),
        (
            {"run.json": '{"name": "another tool"}', "a.jsonl": "{}"},
            "was damaged or edited .* Choose",
        ),
        ({"run.json": "no JSON", "training.jsonl": "{}"}, "is not valid JSON.* Choose another"),
    ],
)
def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path, files, message):
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    with pytest.raises(FolderInUseError, match=message):
        train(tmp_path)
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {str(path.relative_to(tmp_path)): path.read_text() for path in left} == files


def test_a_fleet_whose_checkpoints_were_removed_does_not_start_again(crashed, tmp_path):
    folder = shutil.copytree(crashed, tmp_path / "my run")
    shutil.rmtree(folder / "checkpoints")
    saved = {path: path.read_bytes() for path in folder.rglob("*.[jn][sp]*") if path.is_file()}
    assert any(path.suffix == ".npz" for path in saved)
    with pytest.raises(FolderInUseError, match="checkpoints is missing, though the fleet has"):
        recall.resume(folder, callback=Callback())
    assert {path: path.read_bytes() for path in saved} == saved
    with pytest.raises(FolderInUseError, match="checkpoints is missing"):
        train(folder)


@pytest.mark.parametrize(
    "lost",
    ["", *(pytest.param(name, marks=pytest.mark.slow)
           for name in ("policies", "training.jsonl", "run.json"))],
)  # fmt: skip
def test_a_fleet_whose_files_were_removed_in_training_is_not_called_finished(tmp_path, lost):
    class Remove(Callback):
        def on_steps(self, total_steps):
            if total_steps == 450:
                path = folder / lost
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    folder = tmp_path / "run"
    with pytest.raises(RecallError, match=re.escape(str(folder))):
        train(folder, Remove())
    assert not (folder / "outcome.json").exists()


def test_what_cannot_be_trained_leaves_no_folder(tmp_path):
    with pytest.raises(BadValueError, match="head_layers is 9, but the network has 2 hidden"):
        train(tmp_path / "run", head_layers=9)
    with pytest.raises(BadValueError, match="must have the same shapes"):
        train(tmp_path / "run", sequence="point-rich,push")
    for callback in (Callback, lambda step: None):
        with pytest.raises(BadValueError, match=r"callback is .*: expected an instance of a sub"):
            train(tmp_path / "run", callback)
    assert not (tmp_path / "run").exists()


def nothing():
    return None


def two_at_once():
    return gymnasium.make_vec("Pendulum-v1", 2)


@pytest.mark.parametrize(
    ("method", "sequence", "words"),
    [
        (METHODS["recall"], "point-rich", "the class Recall is not a method: give its name"),
        ("recall", gymnasium.make("Pendulum-v1"), "is an environment; give a function that"),
        ("recall", [None], "None"),
        ("recall", [nothing], "nothing returned None: a task's function must return"),
        ("recall", [two_at_once], "two_at_once returned SyncVectorEnv"),
    ],
)
def test_what_is_no_method_and_no_task_is_refused(tmp_path, method, sequence, words):
    with pytest.raises(RecallError, match=words):
        recall.train(method, sequence, out=tmp_path / "run", callback=Callback())
    assert not (tmp_path / "run").exists()


class CtrlC(Callback):
    def __init__(self):
        self.heard = threading.Event()

    def on_message(self, message):
        self.heard.set()

    def on_steps(self, total_steps):
        if total_steps == 200:
            self.heard.clear()
            os.kill(os.getpid(), signal.SIGINT)
            assert self.heard.wait(300), "another thread hears of the signal"


def test_ctrl_c_in_a_program_saves_too(tmp_path, uninterrupted):
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Stopped, match="stopped at step 200 of 600; everything is saved") as caught:
        train(tmp_path, CtrlC())
    assert caught.value.exit_status == 130
    assert signal.getsignal(signal.SIGINT) is before
    recall.resume(tmp_path, callback=Callback())
    assert left_by(tmp_path) == uninterrupted


def test_training_in_a_thread_needs_no_signals(tmp_path):
    class StopAtOnce(Callback):
        def should_stop(self):
            return True

    with ThreadPoolExecutor(1) as thread:
        results = thread.submit(train, tmp_path, StopAtOnce()).result()
    assert results.outcome is None
    assert status(tmp_path) is Status.UNFINISHED


def test_evaluating_again_gives_the_last_evaluation_and_more_of_it(finished):
    last = [json.loads(line) for line in (finished / "evaluations.jsonl").open()]
    last = [record for record in last if record["step"] == 600]
    assert recall.evaluate(finished) == last
    assert recall.evaluate(finished, tasks="point-poor", workers=900) == [
        record for record in last if record["task"] == "point-poor"
    ]
    more = recall.evaluate(finished, episodes=7)
    assert {record["episodes"] for record in more} == {7}
    with pytest.raises(UnknownNameError, match="did you mean 'point-poor'"):
        recall.evaluate(finished, tasks=["point-por"])
    for name in ("episodes", "workers"):
        with pytest.raises(BadValueError, match=f"{name} is 0; expected a whole number of at"):
            recall.evaluate(finished, **{name: 0})


def test_of_several_sequences_only_the_runs_with_the_task_play_it(tmp_path):
    write_untrained(tmp_path, ["point-rich,point-poor", "point-rich,point-slide"])
    records = recall.evaluate(tmp_path, episodes=1, tasks=["point-slide"], workers=1)
    assert {(record["run"], record["task"]) for record in records} == {(1, "point-slide")}


def test_an_unfinished_fleet_shows_the_tasks_that_are_over(stopped):
    records = recall.evaluate(stopped, workers=1)
    assert {(record["task"], record["step"]) for record in records} == {("point-rich", 300)}
    shutil.rmtree(stopped / "policies")
    (stopped / "evaluations.jsonl").write_text("")
    with pytest.raises(BadValueError, match="has no policies yet"):
        recall.evaluate(stopped)


@pytest.mark.slow
def test_tasks_that_are_functions_need_python_to_resume(tmp_path):
    given = {"sequence": [Point], "seeds": (0,), "method": "fine_tuning", "horizon_steps": 20}
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    train(whole, **given)
    with pytest.raises(CrashError):
        train(stopped, CrashAt(8), checkpoint_minutes=1e-9, **given)
    with pytest.raises(BadValueError) as caught:
        recall.resume(stopped)
    assert f"{stopped}: its tasks are Python functions (Point)" in str(caught.value)
    with pytest.raises(FolderInUseError) as caught:
        train(stopped, **given)
    assert f"`recall.resume('{stopped}', functions={{'Point': Point}})`" in str(caught.value)
    recall.resume(stopped, functions={"Point": Point}, callback=Callback())
    assert left_by(stopped) == left_by(whole)
    for use in (recall.evaluate, recall.film):
        with pytest.raises(BadValueError, match=rf"recall.{use.__name__}.* take functions="):
            use(whole)


def test_a_folder_is_a_text_or_a_path_that_holds_a_fleet(tmp_path):
    for use in (recall.resume, recall.evaluate, recall.load_policy, recall.film):
        for folder in (5, b"runs", "a\0b"):
            with pytest.raises(BadValueError, match="expected a folder, as a text or a Path"):
                use(folder)
    for folder, message in ((tmp_path, "holds no results"), (tmp_path / "no", "is no folder")):
        with pytest.raises(BadValueError, match=message):
            recall.resume(folder)
    with pytest.raises(BadValueError, match="out is 5: expected a folder"):
        recall.train("fine_tuning", "point-rich", out=5, preset="quick")
    with pytest.raises(BadValueError, match="config is 5: expected a file"):
        recall.train(config=5)
