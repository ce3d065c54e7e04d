"""Methods chosen, ordered and renamed."""

import pytest

import recall
from recall.analysis.collection import arranged, gather
from recall.commands.options import values_by_name
from recall.errors import BadValueError, UnknownNameError
from tests.factories.folders import write_fleet


def test_methods_are_chosen_ordered_and_renamed(tmp_path):
    for method in ("fine_tuning", "ewc", "recall"):
        write_fleet(tmp_path / method, method, "cw3-1")
    made = recall.make_report(
        tmp_path, tmp_path / "out", figures=False, methods=("recall", "Fine-tuning"),
        names={"RECALL": "Ours"},
    )  # fmt: skip
    table = {each.name: each for each in made.tables}["cw3-average_performance"]
    assert table.columns[:2] == ("Ours", "Fine-tuning")
    assert made.collection.labels == ["Ours", "Fine-tuning"]
    with pytest.raises(UnknownNameError, match="EWC"):
        arranged(gather(tmp_path), ["ewcc"])
    with pytest.raises(BadValueError, match="already has this name"):
        arranged(gather(tmp_path), names={"EWC": "RECALL"})
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
    assert renamed(**quick) == ["EWC", "Small", "RECALL, λ 0.1"]
    assert renamed(EWC="RECALL", RECALL="EWC") == [
        "RECALL", "EWC, preset quick", "EWC, λ 0.1"
    ]  # fmt: skip
    for names in ({"RECALL": "EWC"}, quick | {"RECALL, λ 0.1": "Small"}):
        with pytest.raises(BadValueError, match="another method already has this name"):
            renamed(**names)
    with pytest.raises(UnknownNameError, match="unknown method of this report 'RECAL'"):
        renamed(RECAL="Ours")
