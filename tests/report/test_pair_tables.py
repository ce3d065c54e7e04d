"""Tables of pairs of tasks: means and counts, over the pairs that all methods have."""

import pytest

from tests.factories.folders import STEPS, write_fleet
from tests.factories.tables import cell_of, tables_of


def test_pairs_are_averaged_and_counted(tmp_path):
    def second_fails(seed, position, step):
        return 0.4 if position == 0 and step > STEPS else float(position == 0)

    pairs = [f"pair-{first}-0" for first in range(5)]
    write_fleet(tmp_path / "a", "perfect_memory", pairs, success=second_fails)
    write_fleet(tmp_path / "b", "recall", pairs)
    tables = tables_of(tmp_path)
    means = tables["pairs"]
    assert cell_of(means, "PM", "first task").ours.value == pytest.approx(0.4)
    assert cell_of(means, "PM", "first task's forgetting").ours.value == pytest.approx(0.6)
    assert cell_of(means, "PM (paper)", "second task").paper.value == 0.44
    assert cell_of(means, "RECALL", "second task").bold
    counts = tables["pairs-counts"]
    assert [cell.ours.value for cell in counts.rows[0].cells] == [5, 5, 5]
    assert [cell.paper.value for cell in counts.rows[1].cells] == [31, 56, 13]
    assert "pair-0-0" not in tables


def test_a_loss_of_a_tenth_is_not_more_than_a_tenth(tmp_path):
    def first_falls(seed, position, step):
        return 0.3 if position == 0 and step > STEPS else 0.4

    assert 0.4 - 0.3 > 0.1
    write_fleet(tmp_path / "a", "perfect_memory", ["pair-0-1", "pair-1-2"], success=first_falls)
    counts = tables_of(tmp_path)["pairs-counts"]
    assert cell_of(counts, "PM", "first task loses more than 0.1").ours.value == 0


def test_only_pairs_that_all_methods_have_are_compared(tmp_path):
    easy, hard = ["pair-0-1", "pair-1-2"], ["pair-2-3", "pair-3-4"]
    write_fleet(tmp_path / "a", "perfect_memory", easy)
    write_fleet(tmp_path / "b", "recall", easy)
    write_fleet(tmp_path / "c", "recall", hard, success=lambda *_: 0.0)
    write_fleet(tmp_path / "d", "recall", hard, distil=False)
    tables = tables_of(tmp_path)
    for label in ("PM", "RECALL"):
        found = cell_of(tables["pairs"], label, "second task")
        assert (found.ours.value, found.bold, found.runs) == (1.0, True, 4)
        assert cell_of(tables["pairs-counts"], label, "second task never succeeds").ours.value == 0
    # A variant on other pairs is shown, but is neither the best nor takes pairs from the methods.
    variant = cell_of(tables["pairs"], "RECALL, no distillation", "second task")
    assert (variant.ours.value, variant.bold) == (1.0, False)
    notes = " ".join(tables["pairs"].notes)
    assert "Only pairs that all methods have count: 0-1, 1-2. Left out: RECALL 2." in notes
    assert "never bold: RECALL, no distillation has 2-3, 3-4." in notes


def test_methods_that_share_no_pairs_are_not_compared(tmp_path):
    write_fleet(tmp_path / "a", "perfect_memory", ["pair-0-1", "pair-1-2"])
    write_fleet(tmp_path / "b", "recall", ["pair-2-3", "pair-3-4"], success=lambda *_: 0.5)
    table = tables_of(tmp_path)["pairs"]
    assert cell_of(table, "PM", "first task").ours.value == 1.0
    assert not any(cell.bold for row in table.rows for cell in row.cells)
    assert "never bold: PM has 0-1, 1-2; RECALL has 2-3, 3-4." in " ".join(table.notes)
