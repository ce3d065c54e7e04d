"""Presets, files and arguments become the spec of a fleet, in one place."""

import dataclasses
import functools
import json
import re
from collections import UserDict, UserList

import numpy as np
import pytest

from recall.commands.train import parse_train, spec_of
from recall.config.presets import PRESETS
from recall.config.resolve import choose, read_config, resolve
from recall.config.spec import make_spec
from recall.config.stored import spec_from
from recall.errors import BadValueError, RecallError
from recall.methods import METHODS, Recall
from recall.settings import Settings
from tests.factories.environments import Blank


def named(name):
    def task():
        raise AssertionError("a spec makes no environment")

    task.__name__ = name
    return task


class Maker:
    def __call__(self):
        raise AssertionError("a spec makes no environment")


@pytest.mark.parametrize(
    ("sequence", "seeds", "message"),
    [
        ([["point-rich"], "point-rich,point-poor"], (0,), "must have the same length"),
        ([["point-rich"], ["point-rich"]], (0,), "point-rich is given twice"),
        (["cw3-1", named("reach")], (0,), r"tasks \(reach\) beside sequences \('cw3-1'\)"),
        (["point-rich", "point-por"], (0,), "did you mean 'point-poor'"),
        ([["point-rich", "cw3-1"]], (0,), "unknown task 'cw3-1'"),
        ([5], (0,), "task 5 is neither a name nor a function"),
        ([], (0,), "at least one sequence"),
        ("point-rich", (), "at least one seed"),
        ("point-rich", (1, 1), "only once"),
        ("point-rich", (-1,), "seed is -1"),
        ("point-rich", (2**31,), "seed is 2147483648"),
        ("point-rich", (True,), "seed is True"),
        ([named("a"), named("a")], (0,), "two different tasks are called 'a'"),
    ],
)
def test_fleets_that_make_no_sense_are_refused(sequence, seeds, message):
    with pytest.raises(RecallError, match=message):
        make_spec("recall", sequence, seeds, Settings())


@pytest.mark.parametrize(
    ("sequence", "names"),
    [
        ("point-rich", ["point-rich"]),
        (named("a"), ["a"]),
        (["point-rich", "point-poor"], ["point-rich,point-poor"]),
        (["point-rich", named("a"), "point-rich"], ["point-rich,a,point-rich"]),
        ([["point-rich"], ["point-poor"]], ["point-rich", "point-poor"]),
        ([["point-rich", named("a")], "point-rich,point-poor"],
         ["point-rich,a", "point-rich,point-poor"]),
        (("cw3-1", "cw3-2"), ["cw3-1", "cw3-2"]),
    ],
)  # fmt: skip
def test_a_list_of_tasks_is_one_sequence_and_a_list_of_sequences_several(sequence, names):
    spec = make_spec("recall", sequence, (0, 1), Settings())
    assert [run.sequence for run in spec.runs] == [name for name in names for _ in (0, 1)]
    assert len({run.name for run in spec.runs}) == 2 * len(names)


def test_the_sequences_of_a_file_and_of_a_command_line(tmp_path):
    file = tmp_path / "settings.json"
    for given, names in (
        (["push", "hammer"], ["push,hammer"]),
        ([["push"], ["hammer"]], ["push", "hammer"]),
    ):
        file.write_text(json.dumps({"sequence": given}))
        assert [run.sequence for run in resolve(config=file).runs] == names
    words = ["--sequence", "push", "hammer"]
    assert [run.sequence for run in spec_of(*parse_train(words)).runs] == ["push", "hammer"]


@pytest.mark.parametrize("task", [lambda: None, functools.partial(named("a")), Maker()])
def test_tasks_need_a_name_that_is_the_same_in_every_process(task):
    with pytest.raises(BadValueError, match=r"has no name of its own.*def my_task\(\)"):
        make_spec("recall", ["point-rich", task], (0,), Settings())
    task.__name__ = "reach"
    (run,) = make_spec("recall", ["point-rich", task], (0,), Settings()).runs
    assert run.sequence == "point-rich,reach"


def test_long_and_odd_sequences_still_name_files():
    spec = make_spec("recall", ",".join(["handle-press-side"] * 30), (0, 1), Settings())
    names = [run.name for run in spec.runs]
    assert len(set(names)) == 2
    assert max(map(len, names)) <= 80
    (run,) = make_spec("recall", "gym:Pendulum-v1", np.arange(1), Settings()).runs
    assert run.name == "recall-gym-Pendulum-v1-seed0"
    assert type(run.seed) is int


def test_later_choices_win(tmp_path):
    config = tmp_path / "settings.toml"
    config.write_text(
        'sequence = ["cw3-1"]\nsteps_per_task = 1e5\n[popart]\nstatistics_of = "normalised"\n'
        "[method]\nbatch_size = 32\n"
    )
    arguments, changes = read_config(config)
    assert arguments == {"sequence": ["cw3-1"]}
    assert [run.sequence for run in resolve(sequence="cw3-2", config=config).runs] == ["cw3-2"]
    method, settings = choose("recall", Settings(), "quick", changes, {"batch_size": 33})
    assert settings.schedule.steps_per_task == 100_000
    assert settings.schedule.random_steps == PRESETS["quick"].settings["random_steps"]
    assert settings.learner.popart.statistics_of == "normalised"
    assert method.batch_size == 33
    assert method.old_batch_size == 64


def test_settings_that_only_go_together_may_come_in_any_order():
    values, normalised = {"critic_weight": 0.0}, {"normalise_targets": True}
    for layers in ([normalised | values], [values | normalised], [normalised, values]):
        method, _ = choose("clear", Settings(), "quick", *layers)
        assert method == METHODS["clear"](
            batch_size=64,
            old_batch_size=64,
            average_actor=0.01,
            critic_weight=0.0,
            normalise_targets=True,
        )
    with pytest.raises(BadValueError, match="cannot be cloned once PopArt has changed their scale"):
        choose("clear", Settings(), "quick", normalised)


def test_a_method_that_comes_with_settings_keeps_them_under_a_preset():
    method, settings = choose(Recall(batch_size=99), Settings(), "quick")
    assert method == dataclasses.replace(choose("recall", Settings(), "quick")[0], batch_size=99)
    assert choose(Recall(), Settings(), "paper") == choose("recall", Settings(), "paper")
    assert settings.schedule.steps_per_task == PRESETS["quick"].settings["steps_per_task"]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("method", METHODS)
def test_every_preset_fits_every_method(preset, method):
    chosen, settings = choose(method, Settings(), preset)
    make_spec(chosen, "point-rich", (0,), settings)
    averages = {"default": 0.002, "paper": None, "authors": None, "quick": 0.01, "laptop": 0.005}
    assert chosen.average_actor == averages[preset], "the same for every method"
    if preset == "default":
        assert (chosen, settings) == (METHODS[method](), Settings())


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.toml", "steps_per_task = ", "a.toml cannot be read"),
        ("a.json", "[1, 2]", "a.json must contain named settings"),
        ("a.yaml", "", r"only \.json and \.toml files are supported"),
        ("a.toml", "seeds = '10'", "seeds '10': give a list"),
        ("a.json", '{"discount": NaN}', "discount is nan; expected a number"),
        ("a.toml", "method = 5", "5 is not a method"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line(name, content, message, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises(BadValueError, match=message) as caught:
        resolve(config=tmp_path / name)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("method", "given", "told"),
    [
        ("recall", {"settings": {"hidden": (64, 64)}}, "setting 'hidden'"),
        ("recall", {"settings": Settings}, "settings is .*expected named settings"),
        ("packnet", {"changes": {"retraining_updates": 70}}, "a multiple of updates_per_burst"),
        ("recall", {"changes": {"steps_per_task": 1e9}}, "is too many for 3 tasks"),
        ("ewc", {"changes": {"distil": True}}, "distil is a setting of recall; ewc does not"),
    ],
)
def test_settings_that_do_not_fit_are_refused(method, given, told):
    with pytest.raises(RecallError, match=told):
        resolve(method, **given)


def omegaconf(tree):
    return pytest.importorskip("omegaconf", reason="omegaconf is not installed").OmegaConf.create(
        tree
    )


def user_collections(tree):
    if isinstance(tree, dict):
        return UserDict({name: user_collections(item) for name, item in tree.items()})
    return UserList(map(user_collections, tree)) if isinstance(tree, list) else tree


@pytest.mark.parametrize("made", [omegaconf, user_collections])
def test_settings_are_mappings_and_sequences_of_any_kind(made):
    tree = {
        "method": "clonex",
        "sequence": ["point-rich", "point-slide"],
        "seeds": [3, 4],
        "preset": "quick",
        "network": {"hidden": [32, 32]},
        "popart": {"sigma_bounds": [0.1, 10]},
        "steps_per_task": 1_000,
    }
    spec = resolve(config=made(tree))
    assert spec == resolve(config=tree)
    stored = json.loads(json.dumps(spec.describe()))
    assert stored["settings"]["learner"]["popart"]["sigma_bounds"] == [0.1, 10]


def left():
    return Blank()


def right():
    return Blank()


def drawn():
    return Blank("rgb_array")


def given(functions):
    """Return the tasks of a fleet on `left` and `right` that is read with these functions."""
    description = make_spec("fine_tuning", [left, right], (0,), Settings()).describe()
    (run,) = spec_from(description, functions).runs
    assert run.task_names == ("left", "right")
    return run.tasks


def test_functions_of_the_same_name_or_of_none_of_the_fleets_are_taken():
    assert given({"left": left, "right": right}) == (left, right)
    task, _ = given({"left": drawn, "right": lambda: None})
    assert task().render_mode == "rgb_array"


@pytest.mark.parametrize(
    ("functions", "reason"),
    [
        ({"left": right, "right": left}, "functions={'left': left, 'right': right}"),
        ({"left": left, "right": left}, "functions['right'] is left, the name of another task"),
        ({"left": left, "right": 3}, "task 3 is neither a name nor a function that makes"),
        ([left, right], "give a dict from the names of tasks to their functions, here functions={"),
        ({"left": left}, "its tasks are Python functions (right)"),
    ],
)
def test_functions_that_cannot_be_those_of_the_fleet_are_refused(functions, reason):
    with pytest.raises(BadValueError, match=re.escape(reason)):
        given(functions)
