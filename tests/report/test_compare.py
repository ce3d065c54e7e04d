"""Two folders side by side: settings that differ, metrics with paired differences, and curves."""

import pytest

from recall.cli import main
from recall.errors import BadValueError
from recall.report.compare import compare
from tests.factories.folders import write_fleet
from tests.factories.tables import cell_of


def level(*values):
    """A success for each seed, at every step."""
    return lambda seed, position, step: values[seed]


def test_folders_are_compared_seed_by_seed(tmp_path, capsys):
    write_fleet(tmp_path / "old", "recall", "push,hammer", (0, 1, 2), level(0.1, 0.5, 0.9))
    write_fleet(tmp_path / "new" / "a", "recall", "push,hammer", (1, 2, 3), level(0, 0.7, 1.0, 0.4),
                distillation_weight=1.0, hidden=(8, 8, 8))  # fmt: skip
    write_fleet(tmp_path / "new" / "more", "ewc", "push,hammer", (0,))
    folders = [tmp_path / "old", tmp_path / "new", tmp_path / "out"]
    made = compare(*folders, figures=False)
    tables = {table.name: table for table in made.tables}
    assert {row.heading: [cell.text for cell in row.cells] for row in tables["settings"].rows} == {
        "recall: method.distillation_weight": ["10.0", "1.0"],
        "recall: learner.network.hidden": ["256x256x256x256", "8x8x8"],
    }
    metrics = tables["push,hammer"]
    old, new = "old: RECALL", "new: RECALL, λ 1, hidden 8x8x8"
    assert [row.heading for row in metrics.rows] == [old, new]
    assert [row.cells[0].estimate.value for row in metrics.rows] == pytest.approx([0.5, 0.7])
    # Seeds 1 and 2 are in both: 0.7 - 0.5 and 1.0 - 0.9. Student's t with one degree of freedom
    # is 6.3138 at 95 %, and the standard error 0.05.
    difference = cell_of(tables["push,hammer-differences"], new, old)
    assert difference.estimate.value == pytest.approx(0.15)
    assert difference.estimate.interval == pytest.approx((0.15 - 0.31569, 0.15 + 0.31569), abs=1e-5)
    assert difference.runs == 2
    assert not tables["push,hammer-differences"].detail
    assert any("only new has it: ewc on push,hammer" in problem for problem in made.problems)
    main(["compare", *map(str, folders[:2]), "--no-figures", "--out", str(folders[2])])
    assert "Settings that differ" in capsys.readouterr().out
    assert "Report of old and new" in (folders[2] / "index.html").read_text()


def test_references_in_either_folder_serve_both(tmp_path):
    """Areas of 0.2 and 0.6, and of 0.5 alone: transfers of -0.6 and 0.2, as (0.6 - 0.5) / 0.5."""
    for name, success in (("old", 0.2), ("new", 0.6)):
        write_fleet(tmp_path / name / "runs", "recall", "push,hammer", (0,), level(success))
        write_fleet(tmp_path / name / "singles", "recall", "push", (0,), level(success))
    alone = {"sequence": [["push"], ["hammer"]], "seeds": (0,), "success": level(0.5)}
    write_fleet(tmp_path / "alone", **alone)
    write_fleet(tmp_path / "new" / "alone", **alone)
    for reference in ((), tmp_path / "alone"):
        folders = tmp_path / "old", tmp_path / "new", tmp_path / "out"
        made = compare(*folders, reference, figures=bool(reference))
        tables = {each.name: each for each in made.tables}
        assert [row.heading for row in tables["settings"].rows] == ["none"]
        assert made.collection.labels == ["old: RECALL", "new: RECALL"]
        singles = [cell.estimate.value for cell in tables["single-tasks"].rows[0].cells[::2]]
        assert singles == pytest.approx([0.2, 0.6])
        for label, value in (("old: RECALL", -0.6), ("new: RECALL", 0.2)):
            found = cell_of(tables["push,hammer"], label, "forward transfer").estimate
            assert found.value == pytest.approx(value)
    assert "average_success" in {each.kind for each in made.figures}


def test_folders_with_nothing_in_common_are_refused(tmp_path):
    write_fleet(tmp_path / "a", "recall", "push,hammer")
    write_fleet(tmp_path / "b", "ewc", "push,hammer")
    write_fleet(tmp_path / "c", "recall", "hammer,push")
    for other in ("b", "c"):
        with pytest.raises(BadValueError, match="no method and sequence in common"):
            compare(tmp_path / "a", tmp_path / other, tmp_path / "out")
    with pytest.raises(BadValueError, match="missing has no runs"):
        compare(tmp_path / "a", tmp_path / "missing", tmp_path / "out")
    with pytest.raises(BadValueError, match="with itself"):
        compare(tmp_path / "a", tmp_path / "b" / ".." / "a", tmp_path / "out")
    assert not (tmp_path / "out").exists()
