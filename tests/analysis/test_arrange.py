"""Methods chosen, ordered and renamed."""

import pytest

from recall.analysis.collection import arranged, gather
from recall.analysis.frames import analyse
from recall.commands.options import values_by_name
from recall.errors import BadValueError, UnknownNameError
from recall.report.tables import all_tables
from tests.factories.folders import write_fleet


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
