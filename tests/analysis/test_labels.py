"""What runs are called: the method's label, and what sets its runs apart."""

import pytest

from recall.analysis.collection import arranged, gather
from recall.analysis.frames import analyse
from recall.analysis.labels import family_of
from recall.commands.options import values_by_name
from recall.errors import BadValueError, UnknownNameError
from recall.report.tables import all_tables
from tests.factories.folders import write_fleet


def labels(folder) -> list[str]:
    return gather(folder).labels


def test_variants_are_told_by_what_differs_and_sorted_by_size(tmp_path):
    for name, weight in (("a", 100.0), ("b", 10.0), ("c", 0.1), ("d", 1.0)):
        write_fleet(tmp_path / name, "recall", "cw6-1", distillation_weight=weight)
    write_fleet(tmp_path / "e", "recall", "cw6-1", distil=False, normalise_targets=False)
    write_fleet(tmp_path / "f", "recall", "cw6-1", actor_heads="separate", learning_rate=0.0003)
    write_fleet(tmp_path / "g", "recall", "cw6-1", memory_per_task=20_000)
    assert labels(tmp_path) == [
        "RECALL",
        "RECALL, memory per task 20,000",
        "RECALL, no normalisation, no distillation",
        "RECALL, separate actors, learning rate 0.0003",
        "RECALL, λ 0.1",
        "RECALL, λ 1",
        "RECALL, λ 100",
    ]


def test_a_label_says_every_departure_whatever_else_is_there(tmp_path):
    write_fleet(tmp_path / "a", "recall", "cw3-1", distil=False)
    assert labels(tmp_path) == ["RECALL, no distillation"]
    write_fleet(tmp_path / "b", "recall", "cw3-2", hidden=(64, 64, 64), reward="v2")
    assert labels(tmp_path / "b") == ["RECALL, reward v2, hidden 64x64x64"]
    assert gather(tmp_path / "a").runs[0].changes == {"method.distil": False}


def test_a_preset_is_named_and_not_spelt_out(tmp_path):
    write_fleet(tmp_path / "a", "recall", preset="quick")
    write_fleet(tmp_path / "b", "recall", preset="paper")
    write_fleet(tmp_path / "c", "perfect_memory", preset="quick", best_return=True)
    assert labels(tmp_path) == [
        "PM, preset quick, best-return start",
        "RECALL, preset paper",
        "RECALL, preset quick",
    ]


@pytest.mark.parametrize(
    ("method", "label", "setting", "values", "named"),
    [
        ("recall", "RECALL", "random_steps", (50, 70), (", random steps 50", ", random steps 70")),
        (
            *("packnet", "PackNet", "retraining_updates", (50, 100)),
            (", retraining updates 50", ", retraining updates 100"),
        ),
        ("recall", "RECALL", "max_old_tasks", (1, 2), ("", ", max old tasks 1")),  # 2: all of them
        ("recall", "RECALL", "evaluate_every", (250, 500), ("",)),
    ],
)
def test_how_runs_are_trained_is_no_variant_unless_they_differ_in_it(
    tmp_path, method, label, setting, values, named
):
    one, other = values
    write_fleet(tmp_path / "a", method, "cw3-1", **{setting: one})
    assert labels(tmp_path) == [label]
    write_fleet(tmp_path / "b", method, "cw3-2", **{setting: other})
    assert labels(tmp_path) == [label + each for each in named]


def test_runs_that_all_depart_from_the_defaults_all_say_so(tmp_path):
    write_fleet(tmp_path / "a", "recall")  # 1,000 steps, and not a million
    write_fleet(tmp_path / "b", "recall", steps_per_task=500)
    assert labels(tmp_path) == ["RECALL, 500 steps per task", "RECALL, 1,000 steps per task"]
    write_fleet(tmp_path / "c", "ewc")
    write_fleet(tmp_path / "d", "fine_tuning", "push", hidden=(32, 32, 32))  # of another table
    assert labels(tmp_path) == [
        "Fine-tuning, hidden 32x32x32", "EWC", "RECALL", "RECALL, 500 steps per task"
    ]  # fmt: skip


def test_a_method_that_is_not_registered_goes_by_its_name(tmp_path):
    folder = write_fleet(tmp_path / "a", "recall")
    described = (folder / "run.json").read_text()
    (folder / "run.json").write_text(described.replace('"name": "recall"', '"name": "mine"', 1))
    assert gather(folder).labels == ["mine"]


@pytest.mark.parametrize(
    ("sequence", "family"),
    [("cw3-1", "cw3"), ("cw10", "cw10"), ("pair-5-0", "pairs"), ("mine-2", "mine"),
     ("push,hammer", "push,hammer"), ("push,hammer-2", "push,hammer-2"), ("pair-5", "pair")],
)  # fmt: skip
def test_the_family_of_a_sequence(sequence, family):
    assert family_of(sequence) == family


@pytest.fixture
def three(tmp_path):
    write_fleet(tmp_path / "quick", "recall", "cw3-1", preset="quick")
    write_fleet(tmp_path / "light", "recall", "cw3-1", distillation_weight=0.1)
    write_fleet(tmp_path / "ewc", "ewc", "cw3-1")
    return gather(tmp_path)


def test_methods_are_chosen_and_ordered(three):
    shown = arranged(three, ("recall", "EWC"), {"EWC": "Theirs"})
    assert shown.labels == ["RECALL, preset quick", "RECALL, λ 0.1", "Theirs"]
    table = {each.name: each for each in all_tables(analyse(shown))}["cw3-average_performance"]
    assert table.columns[:2] == ("RECALL, preset quick", "Theirs")
    with pytest.raises(UnknownNameError, match="EWC"):
        arranged(three, ["ewcc"])


def test_names_are_given_as_label_and_name():
    assert values_by_name("--names", ["EWC=a=b"]) == {"EWC": "a=b"}
    with pytest.raises(BadValueError, match="--names RECALL: give NAME=VALUE"):
        values_by_name("--names", ["RECALL"])


QUICK = {"RECALL, preset quick": "Small"}


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        ({"RECALL": "Ours"}, ["EWC", "Ours, preset quick", "Ours, λ 0.1"]),
        ({"recall": "Ours"}, ["EWC", "Ours, preset quick", "Ours, λ 0.1"]),
        ({"RECALL": "Ours"} | QUICK, ["EWC", "Small", "Ours, λ 0.1"]),
        ({"RECALL": "EWC", "EWC": "RECALL"}, ["RECALL", "EWC, preset quick", "EWC, λ 0.1"]),
        ({"RECALL": "EWC"}, None),
        (QUICK | {"RECALL, λ 0.1": "Small"}, None),
    ],
)
def test_the_name_of_a_method_renames_its_part_of_every_label(three, names, labels):
    if labels:
        assert arranged(three, names=names).labels == labels
    else:
        with pytest.raises(BadValueError, match="another method already has this name"):
            arranged(three, names=names)
