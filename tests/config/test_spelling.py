"""A setting has the same names in files, in Python and on the command line."""

import json

import pytest

from recall.commands.options import split_options
from recall.commands.train import parse_train, spec_of
from recall.config.resolve import paths, resolve
from recall.errors import BadValueError, RecallError
from recall.methods import METHODS, Recall
from recall.settings import Settings

WANTED = {"hidden": [64, 32], "head_layers": 2, "discount": 0.5, "batch_size": 7, "policy_lag": 0}
SPELLINGS = [
    WANTED,
    {"network.hidden": [64, 32], "learner.network.head_layers": 2, "sac.discount": 0.5,
     "method.batch_size": 7, "schedule.policy_lag": 0},
    {"hidden": [64, 32], "network.head-layers": 2, "sac.discount": 0.5, "batch-size": 7,
     "policy-lag": 0},
    {"network": {"hidden": [64, 32], "head-layers": 2}, "learner": {"sac": {"discount": 0.5}},
     "method": {"batch_size": 7}, "schedule": {"policy_lag": 0}},
]  # fmt: skip


def as_options(tree, above=""):
    words = []
    for key, value in tree.items():
        if isinstance(value, dict):
            words += as_options(value, f"{above}{key}.")
        else:
            values = value if isinstance(value, list) else [value]
            words += [f"--{above}{key}", *map(str, values)]
    return words


@pytest.mark.parametrize("spelling", SPELLINGS, ids=["short", "dotted", "dashed", "nested"])
@pytest.mark.parametrize("by", ["python", "json", "options"])
def test_every_spelling_works_everywhere(by, spelling, tmp_path):
    if by == "python":
        arguments = {name: spelling[name] for name in spelling if name != "method"}
        method = spelling.get("method", {})
        spec = resolve(changes=arguments | {f"method.{name}": method[name] for name in method})
    elif by == "options":
        spec = spec_of(*parse_train(as_options(spelling)))
    else:
        file = tmp_path / "settings.json"
        file.write_text(json.dumps(spelling))
        spec = resolve(config=file)
    assert spec.settings.learner.network.hidden == (64, 32)
    assert spec.settings.learner.network.head_layers == 2
    assert spec.settings.learner.sac.discount == 0.5
    assert spec.settings.schedule.policy_lag == 0
    assert spec.method == Recall(batch_size=7)


@pytest.mark.parametrize("method", METHODS)
def test_every_setting_of_every_method_is_found_by_each_of_its_names(method):
    """No two settings have one name: they are keywords of `recall.train`, side by side."""
    found = (*paths(Settings()), *(f"method.{name}" for name in paths(METHODS[method]())))
    assert len({path.rpartition(".")[2] for path in found}) == len(found)
    for path in found:
        parts = path.split(".")
        for start in range(len(parts)):
            name = ".".join(parts[start:]).replace("_", "-")
            with pytest.raises(RecallError, match=f"{parts[-1]}.*nonsense"):
                resolve(method, changes={name: ["nonsense"]})


def test_methods_may_be_spelt_with_dashes(tmp_path):
    file = tmp_path / "settings.toml"
    file.write_text('method = "perfect-memory"')
    by_option, _ = parse_train(["--method", "perfect-memory", "--preset", "quick"])
    quick = resolve("perfect_memory", preset="quick")
    assert quick.method.batch_size == 128  # the preset's own number for this method
    assert spec_of(by_option, {}) == resolve("perfect-memory", preset="quick") == quick
    assert resolve(config=file) == resolve("perfect_memory")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden": (8, 8, 8), "network.hidden": (9, 9, 9)},
         "hidden .* network.hidden"),
        ({"sac": {"discount": 0.5}, "discount": 0.6}, "sac.discount is 0.5 and discount is 0.6"),
        ({"batch-size": 5, "batch_size": 6}, "batch-size is 5 and batch_size is 6"),
        ({"network": 5}, "network is a group of settings; set those in it, such as network.hidden"),
        ({"steps_per_tusk": 100}, "did you mean 'steps_per_task'.*`recall train --help` shows all"),
        ({"sac.hidden": (8,)}, "unknown setting 'sac.hidden'"),
    ],
)  # fmt: skip
def test_names_that_contradict_or_mean_nothing_are_refused(changes, message):
    with pytest.raises(RecallError, match=message) as caught:
        resolve(changes=changes)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("words", [["64", "32"], ["64,32"], ["64,", "32"]])
def test_numbers_of_a_list_are_separated_by_spaces_or_commas(words):
    spec = spec_of(*parse_train(["--hidden", *words, "--head-layers", "1"]))
    assert spec.settings.learner.network.hidden == (64, 32)


def test_options_are_words_by_name():
    words = "a --network.hidden 64 -64 --steps_per-task=1e6 --quiet b --popart.no-x --size 3 4 c"
    assert split_options(words.split(), {"quiet": 0, "size": 2}) == (
        {
            "network.hidden": ("64", "-64"),
            "steps_per_task": ("1e6",),
            "quiet": (),
            "popart.x": ("false",),
            "size": ("3", "4"),
        },
        ["a", "b", "c"],
    )
    # Only flags are negated, and they take a value behind an equals sign alone.
    words = "--figures=false runs --no-serve --no-out"
    assert split_options(words.split(), {"figures": 0, "serve": 0, "out": 1}) == (
        {"figures": ("false",), "serve": ("false",), "no_out": ()},
        ["runs"],
    )


@pytest.mark.parametrize("words", ["--hidden 8 --hidden 9", "--rehearse --no-rehearse"])
def test_options_that_contradict_are_refused(words):
    with pytest.raises(BadValueError, match="is given twice, with"):
        split_options(words.split(), {})
