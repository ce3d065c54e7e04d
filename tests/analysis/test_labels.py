"""What runs are called: the method's label, and what sets its runs apart."""

import pytest

from recall.analysis.collection import arranged, gather
from recall.analysis.frames import analyse
from recall.analysis.labels import family_of, number_in_family
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
    found = gather(folder)
    assert found.labels == ["mine"]
    (problem,) = found.problems
    assert "run.json was edited" in problem


@pytest.mark.parametrize(
    ("sequence", "family", "number"),
    [
        ("cw3-1", "cw3", "1"),
        ("cw10", "cw10", ""),
        ("pair-5-0", "pairs", ""),
        ("mine-2", "mine", "2"),
        ("push,hammer", "push,hammer", ""),
        ("push,hammer-2", "push,hammer-2", ""),
        ("pair-5", "pair", "5"),
    ],
)
def test_the_family_of_a_sequence(sequence, family, number):
    assert family_of(sequence) == family
    assert number_in_family(sequence) == number


def test_methods_are_chosen_ordered_and_renamed(tmp_path):
    for method in ("fine_tuning", "ewc", "recall"):
        write_fleet(tmp_path / method, method, "cw3-1")
    found = gather(tmp_path)
    shown = arranged(found, ("recall", "Fine-tuning"), {"RECALL": "Ours"})
    assert shown.labels == ["Ours", "Fine-tuning"]
    table = {each.name: each for each in all_tables(analyse(shown))}["cw3-average_performance"]
    assert table.columns[:2] == ("Ours", "Fine-tuning")
    with pytest.raises(UnknownNameError, match="EWC"):
        arranged(found, ["ewcc"])
    with pytest.raises(BadValueError, match="--names RECALL: give NAME=VALUE"):
        values_by_name("--names", ["RECALL"])
    assert values_by_name("--names", ["EWC=a=b"]) == {"EWC": "a=b"}


def test_the_name_of_a_method_renames_its_part_of_every_label(tmp_path):
    write_fleet(tmp_path / "quick", "recall", "push,hammer", preset="quick")
    write_fleet(tmp_path / "light", "recall", "push,hammer", distillation_weight=0.1)
    write_fleet(tmp_path / "ewc", "ewc", "push,hammer")
    found = gather(tmp_path)
    assert found.labels == ["EWC", "RECALL, preset quick", "RECALL, λ 0.1"]

    def renamed(**names):
        return arranged(found, names=names).labels

    for name in ("RECALL", "recall"):
        assert renamed(**{name: "Ours"}) == ["EWC", "Ours, preset quick", "Ours, λ 0.1"]
    quick = {"RECALL, preset quick": "Small"}
    assert renamed(RECALL="Ours", **quick) == ["EWC", "Small", "Ours, λ 0.1"]
    assert renamed(EWC="RECALL", RECALL="EWC") == [
        "RECALL", "EWC, preset quick", "EWC, λ 0.1"
    ]  # fmt: skip
    for names in ({"RECALL": "EWC"}, quick | {"RECALL, λ 0.1": "Small"}):
        with pytest.raises(BadValueError, match="another method already has this name"):
            renamed(**names)
