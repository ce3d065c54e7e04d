"""recall.train, recall.resume, recall.evaluate, and the folder they share."""

import json
import os
import signal
import threading

import pytest

import recall
from recall.api import Stopped
from recall.callbacks import Callback
from recall.config.convert import paths
from recall.config.presets import PRESETS, choose, read_config
from recall.config.spec import make_spec
from recall.errors import BadValueError, RecallError, UnknownNameError
from recall.methods import METHODS, Recall
from recall.results.fleet_folder import FolderInUseError
from recall.settings import LearnerSettings, SacSettings, Settings
from tests.training.own_tasks import Point
from tests.training.small_runs import CHANGES, SEQUENCE, CrashAt, CrashError, left_by, small_spec


def train(out, callback=None, **keywords):
    given = {"sequence": SEQUENCE, "seeds": (0, 1)} | CHANGES | keywords
    return recall.train(out=out, callback=callback or Callback(), **given)


def test_training_from_python_gives_the_results(tmp_path, uninterrupted):
    results = train(tmp_path / "run")
    assert left_by(tmp_path / "run") == uninterrupted
    assert results.outcome["finished"]
    assert [run["seed"] for run in results.runs] == [0, 1]
    assert results.description["git"] is None or len(results.description["git"]["commit"]) == 40
    for again, message in (
        ({}, "already holds this run, finished"),
        ({"workers": 1}, "already holds this run, finished"),
        ({"seeds": (5,)}, "a different run: recall on point-rich,point-poor, seeds 0 1. Choose"),
        ({"batch_size": 17}, "seeds 0 1, with batch_size 16 and not 17. Choose"),
    ):
        with pytest.raises(FolderInUseError, match=message):
            train(tmp_path / "run", **again)
    with pytest.raises(BadValueError, match="is finished: recall on point-rich,point-poor"):
        recall.resume(tmp_path / "run")


def test_an_interrupted_fleet_is_resumed_not_started_again(tmp_path, uninterrupted):
    with pytest.raises(CrashError):
        train(tmp_path / "run", CrashAt(10))
    with pytest.raises(
        FolderInUseError, match=r"unfinished: continue it with `recall resume .*run`"
    ):
        train(tmp_path / "run")
    recall.resume(tmp_path / "run", callback=Callback())
    assert left_by(tmp_path / "run") == uninterrupted


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("all my work")
    with pytest.raises(FolderInUseError, match="is not empty and holds no run"):
        train(tmp_path)
    with pytest.raises(BadValueError, match="holds no results"):
        recall.resume(tmp_path)


def test_what_cannot_be_trained_leaves_no_folder(tmp_path):
    with pytest.raises(BadValueError, match="head_layers 9 of a network with 2"):
        train(tmp_path / "run", head_layers=9)
    with pytest.raises(BadValueError, match="must have the same shapes"):
        train(tmp_path / "run", sequence="point-rich,push")
    assert not (tmp_path / "run").exists()


class CtrlC(Callback):
    def on_steps(self, total_steps):
        if total_steps == 200:
            os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_in_a_program_saves_too(tmp_path, uninterrupted):
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Stopped, match="stopped at step 200 of 600; everything is saved") as caught:
        train(tmp_path, CtrlC())
    assert caught.value.exit_status == 130
    assert signal.getsignal(signal.SIGINT) is before
    recall.resume(tmp_path, callback=Callback())
    assert left_by(tmp_path) == uninterrupted


def test_training_in_a_thread_needs_no_signals(tmp_path, uninterrupted):
    thread = threading.Thread(target=train, args=(tmp_path,))
    thread.start()
    thread.join()
    assert left_by(tmp_path) == uninterrupted


def test_evaluating_again_gives_the_last_evaluation_and_more_of_it(finished):
    last = [json.loads(line) for line in (finished / "evaluations.jsonl").open()]
    last = [record for record in last if record["step"] == 600]
    assert recall.evaluate(finished) == last
    assert recall.evaluate(finished, tasks=["point-poor"], workers=1) == [
        record for record in last if record["task"] == "point-poor"
    ]
    more = recall.evaluate(finished, episodes=7)
    assert {record["episodes"] for record in more} == {7}
    with pytest.raises(UnknownNameError, match="did you mean 'point-poor'"):
        recall.evaluate(finished, tasks=["point-por"])
    with pytest.raises(BadValueError, match="0 episodes: at least one"):
        recall.evaluate(finished, episodes=0)


def test_of_several_sequences_only_the_runs_with_the_task_play_it(tmp_path):
    sequences = ["point-rich", "point-poor"]
    train(tmp_path, sequence=sequences, seeds=(0,), method="fine_tuning")
    records = recall.evaluate(tmp_path, episodes=1, tasks=["point-poor"])
    assert {(record["run"], record["task"]) for record in records} == {(1, "point-poor")}


def test_an_unfinished_fleet_shows_the_tasks_that_are_over(tmp_path):
    with pytest.raises(CrashError):
        train(tmp_path, CrashAt(5))
    with pytest.raises(BadValueError, match="has no policies yet: no task is finished"):
        recall.evaluate(tmp_path)
    with pytest.raises(CrashError):
        recall.resume(tmp_path, callback=CrashAt(17))
    records = recall.evaluate(tmp_path)
    assert {(record["task"], record["step"]) for record in records} == {("point-rich", 300)}


def test_tasks_that_are_functions_need_python_to_resume(tmp_path):
    given = {"sequence": [Point], "seeds": (0,), "method": "fine_tuning", "horizon_steps": 20}
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    train(whole, **given)
    with pytest.raises(CrashError):
        train(stopped, CrashAt(8), checkpoint_minutes=1e-9, **given)
    with pytest.raises(BadValueError) as caught:
        recall.resume(stopped)
    assert "tasks that are Python functions (Point)" in str(caught.value)
    assert "recall.resume(folder, functions={'Point': Point})" in str(caught.value)
    recall.resume(stopped, functions={"Point": Point}, callback=Callback())
    assert left_by(stopped) == left_by(whole)


def test_several_sequences_make_one_fleet():
    spec = small_spec(sequence=["point-rich,point-poor", "point-poor,point-rich"], seeds=(0, 1))
    assert [run.sequence for run in spec.runs] == ["point-rich,point-poor"] * 2 + [
        "point-poor,point-rich"
    ] * 2
    assert len({run.name for run in spec.runs}) == 4


@pytest.mark.parametrize(
    ("sequence", "seeds", "message"),
    [
        (["point-rich", "point-rich,point-poor"], (0,), "must have the same length"),
        (["point-rich", "point-rich"], (0,), "point-rich is given twice"),
        ([], (0,), "at least one sequence"),
        ("point-rich", (), "give at least one seed, and each only once"),
        ("point-rich", (1, 1), "give at least one seed, and each only once"),
        ("point-rich", (-1,), "seed -1 is not between"),
        ("point-rich", (2**31,), "seed 2147483648 is not between"),
        ("point-rich", ("0",), "seed '0' is not a whole number"),
        ([lambda: None, lambda: 1], (0,), "two different tasks are called '<lambda>'"),
    ],
)
def test_fleets_that_make_no_sense_are_refused(sequence, seeds, message):
    with pytest.raises(RecallError, match=message):
        make_spec("recall", sequence, seeds, Settings())


def test_long_and_odd_sequences_still_name_files():
    spec = make_spec("recall", ",".join(["handle-press-side"] * 30), (0, 1), Settings())
    names = [run.name for run in spec.runs]
    assert len(set(names)) == 2
    assert max(map(len, names)) <= 80
    (run,) = make_spec("recall", "gym:Pendulum-v1", (0,), Settings()).runs
    assert run.name == "recall-gym-Pendulum-v1-seed0"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps_per_task": 120}, "must be a multiple of the chunk of 50 steps; 100 is"),
        ({"evaluation_episodes": 0}, "evaluation_episodes 0 must be at least 1"),
        ({"hidden": ()}, "hidden 0 must be at least 1"),
        ({"checkpoint_minutes": 0}, "checkpoint_minutes 0.0 must be above 0"),
        ({"learning_rate": float("nan")}, "learning_rate nan must be above 0 and at most 1"),
        ({"adam_epsilon": 0.0}, "adam_epsilon 0.0 must be above 0"),
        ({"popart.step_size": 2}, "step_size 2.0 must be above 0 and at most 1"),
        ({"target_output_std": -1}, "target_output_std -1.0 must be above 0"),
        ({"sigma_bounds": (5, 1)}, "the larger of sigma_bounds 1.0 must be above 5"),
        ({"discount": 1.5}, "discount 1.5 must be between 0 and 1"),
        ({"random_steps": -5}, "random_steps -5 must not be negative"),
        ({"steps_per_tusk": 100}, "did you mean 'steps_per_task'"),
        ({"popart.folow": "raw"}, "unknown setting 'popart.folow'"),
        ({"statistics_of": "row"}, "did you mean 'raw'"),
        ({"overlap": 1}, "overlap is 1; expected true or false"),
        ({"steps_per_task": 100.5}, "expected a whole number"),
        ({"hidden": 64}, "expected a list"),
        ({"sigma_bounds": (1.0,)}, "expected 2 values"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes, message):
    with pytest.raises(RecallError, match=message):
        make_spec("recall", "point-rich", (0,), choose("recall", Settings(), "default", changes)[1])


@pytest.mark.parametrize(
    ("method", "settings", "message"),
    [
        (Recall(distillation_kl="avg"), Settings(), "unknown distillation_kl 'avg'"),
        (Recall(sampling="half"), Settings(), "unknown sampling 'half'.*balanced"),
        (Recall(distil="no"), Settings(), "distil is 'no'; expected true or false"),
        ("recall", Settings(learner=LearnerSettings(sac=SacSettings(precision="bf16"))), "bf16"),
    ],
)
def test_objects_with_values_of_no_kind_are_refused(method, settings, message):
    with pytest.raises(RecallError, match=message):
        make_spec(method, "point-rich", (0,), settings)


def test_unknown_methods_and_presets_are_told_with_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean 'fine_tuning'"):
        choose("finetuning", Settings(), "default")
    with pytest.raises(UnknownNameError, match="did you mean 'authors'"):
        choose("recall", Settings(), "author")


def test_later_choices_win(tmp_path):
    config = tmp_path / "settings.toml"
    config.write_text(
        'sequence = ["cw3-1"]\nsteps_per_task = 1e5\n[popart]\nstatistics_of = "normalised"\n'
        "[method]\nbatch_size = 32\n"
    )
    arguments, changes = read_config(config)
    assert arguments == {"sequence": ["cw3-1"]}
    method, settings = choose("recall", Settings(), "quick", changes, {"batch_size": 33})
    assert settings.schedule.steps_per_task == 100_000
    assert settings.schedule.random_steps == PRESETS["quick"].settings["random_steps"]
    assert settings.learner.popart.statistics_of == "normalised"
    assert method.batch_size == 33
    assert method.old_batch_size == 64
    config.write_text("seeds = 5")
    with pytest.raises(BadValueError, match="seeds is 5; expected a list"):
        read_config(config)
    config.rename(tmp_path / "settings.yaml")
    with pytest.raises(BadValueError, match=r"only \.json and \.toml files are supported"):
        read_config(tmp_path / "settings.yaml")


def test_a_file_may_say_what_trains_and_how(tmp_path):
    config = tmp_path / "settings.json"
    config.write_text(
        json.dumps({"method": "fine_tuning", "sequence": SEQUENCE, "seeds": [7]} | CHANGES)
    )
    results = recall.train(out=tmp_path / "run", config=config, seeds=[3], callback=Callback())
    assert results.description["method"]["name"] == "fine_tuning"
    assert [run["seed"] for run in results.runs] == [3]
    with pytest.raises(BadValueError, match=r"seeds 3: give a list or a range of seeds"):
        recall.train(seeds=3)


def test_settings_that_only_go_together_may_come_in_any_order():
    values, normalised = {"critic_weight": 0.0}, {"normalise_targets": True}
    for layers in ([normalised | values], [values | normalised], [normalised, values]):
        method, _ = choose("clear", Settings(), "quick", *layers)
        assert method == METHODS["clear"](
            batch_size=64, old_batch_size=64, critic_weight=0.0, normalise_targets=True
        )
    with pytest.raises(BadValueError, match="clone values without PopArt"):
        choose("clear", Settings(), "quick", normalised)


def test_a_method_that_comes_with_settings_keeps_them_under_a_preset():
    method, settings = choose(Recall(batch_size=99), Settings(), "quick")
    assert method.batch_size == 99
    assert settings.schedule.steps_per_task == PRESETS["quick"].settings["steps_per_task"]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("method", METHODS)
def test_every_preset_fits_every_method(preset, method):
    chosen, settings = choose(method, Settings(), preset)
    make_spec(chosen, "point-rich", (0,), settings)
    if preset == "default":
        assert (chosen, settings) == (METHODS[method](), Settings())


@pytest.mark.parametrize("method", METHODS)
def test_no_two_settings_have_one_name(method):
    """They are options side by side on the command line, and keywords of `recall.train`."""
    names = [path.rsplit(".", 1)[-1] for path in (*paths(METHODS[method]()), *paths(Settings()))]
    assert len(set(names)) == len(names)
