"""Two folders side by side: settings that differ, metrics with paired differences, and curves."""

import json

import pytest

from recall.analysis.bootstrap import Estimate
from recall.cli import main
from recall.errors import BadValueError
from recall.report.compare import compare
from tests.factories.folders import write_fleet


def level(*values):
    """A success for each seed, at every step."""
    return lambda seed, position, step: values[seed]


def values_of(table, row=0):
    return [cell.ours and cell.ours.value for cell in table.rows[row].cells]


def test_folders_are_compared_seed_by_seed(tmp_path, capsys):
    write_fleet(tmp_path / "old", "recall", "push,hammer", (0, 1, 2), level(0.1, 0.5, 0.9))
    write_fleet(tmp_path / "new", "recall", "push,hammer", (1, 2, 3), level(0, 0.7, 1.0, 0.4),
                distillation_weight=1.0, hidden=(8, 8, 8))  # fmt: skip
    write_fleet(tmp_path / "new" / "more", "ewc", "push,hammer", (0,))
    folders = [tmp_path / "old", tmp_path / "new", tmp_path / "out"]
    settings, metrics = compare(*folders, figures=False).tables
    assert {row.heading: [cell.text for cell in row.cells] for row in settings.rows} == {
        "recall: method.distillation_weight": ["10.0", "1.0"],
        "recall: learner.network.hidden": ["256x256x256x256", "8x8x8"],
    }
    assert metrics.columns == ("old", "new", "difference")
    # Seeds 1 and 2 are in both: 0.7 - 0.5 and 1.0 - 0.9. Student's t with one degree of freedom
    # is 6.3138 at 95 %, and the standard error 0.05.
    assert values_of(metrics) == pytest.approx([0.5, 0.7, 0.15])
    difference = metrics.rows[0].cells[2]
    assert difference.ours.interval == pytest.approx((0.15 - 0.31569, 0.15 + 0.31569), abs=1e-5)
    assert difference.runs == 2
    assert "over 2 shared seeds" in metrics.notes[-1]
    advice = " ".join(metrics.advice)
    assert "No forward transfer of old: RECALL" in advice
    assert "new: RECALL" in advice
    main(["compare", *map(str, folders[:2]), "--no-figures", "--out", str(folders[2])])
    assert "Settings that differ" in capsys.readouterr().out
    assert "Report of old and new" in (folders[2] / "index.html").read_text()


def test_tasks_alone_and_tasks_without_success_stand_in_one_table(tmp_path):
    for name, value in (("old", 0.2), ("new", 0.6)):
        write_fleet(tmp_path / name / "alone", "recall", "push", (0, 1), level(value, value))
        silent = write_fleet(
            tmp_path / name / "silent", "recall", "push,hammer", (0, 1), level(0, 0)
        )
        path = silent / "run.json"
        known = json.loads(path.read_text()) | {"without_success": ["push", "hammer"]}
        path.write_text(json.dumps(known))
    made = compare(tmp_path / "old", tmp_path / "new", tmp_path / "out", figures=False)
    tables = {table.name: table for table in made.tables}
    assert set(tables) == {"settings", "push,hammer-returns", "single-tasks"}
    headings = [row.heading for row in tables["push,hammer-returns"].rows]
    assert headings == ["old: RECALL", "new: RECALL"]
    alone = [cell.ours.value for cell in tables["single-tasks"].rows[0].cells if cell.ours]
    assert {0.2, 0.6} <= {round(value, 6) for value in alone}


def test_curves_of_two_folders_lie_on_one_another(tmp_path):
    for name in ("one", "two"):
        write_fleet(tmp_path / name, "recall", "push,hammer", (0,))
    made = compare(tmp_path / "one", tmp_path / "two", tmp_path / "out")
    assert "average_success" in {each.kind for each in made.figures}
    assert made.collection.labels == ["one: RECALL", "two: RECALL"]


def test_references_in_either_folder_serve_both(tmp_path):
    """Areas of 0.2 and 0.6, and of 0.5 alone: transfers of -0.6 and 0.2, as (0.6 - 0.5) / 0.5."""
    for name, success in (("old", 0.2), ("new", 0.6)):
        write_fleet(tmp_path / name / "runs", "recall", "push,hammer", (0,), level(success))
    folders = [tmp_path / "old", tmp_path / "new", tmp_path / "out"]
    assert len(compare(*folders, figures=False).tables[1].rows) == 2
    alone = {"sequence": [["push"], ["hammer"]], "seeds": (0,), "success": level(0.5)}
    write_fleet(tmp_path / "alone", **alone)
    for reference in (tmp_path / "alone", [tmp_path / "alone"]):
        _, table = compare(*folders, reference, figures=False).tables
        assert table.rows[-1].heading == "forward transfer"
        assert values_of(table, -1) == pytest.approx([-0.6, 0.2, 0.8])
    write_fleet(tmp_path / "new" / "alone", **alone)
    tables = {each.name: each for each in compare(*folders, figures=False).tables}
    assert values_of(tables["compare-recall-push,hammer"], -1) == pytest.approx([-0.6, 0.2, 0.8])
    write_fleet(tmp_path / "long", "recall", "push,hammer", (0,), level(0.2), steps_per_task=2_000)
    one_sided = compare(folders[1], tmp_path / "long", folders[2], figures=False)
    table = {each.name: each for each in one_sided.tables}["compare-recall-push,hammer"]
    assert values_of(table, -1) == [pytest.approx(0.2), None, None]


def test_folders_are_compared_over_all_sequences(tmp_path):
    for name, successes in (("old", (0.2, 0.4)), ("new", (0.5, 0.5))):
        for number, success in enumerate(successes, start=1):
            write_fleet(tmp_path / name / str(number), "recall", f"cw3-{number}", (0, 1),
                        level(success, success))  # fmt: skip
    made = compare(tmp_path / "old", tmp_path / "new", tmp_path / "out", figures=False)
    tables = {table.name: table for table in made.tables}
    wanted = {"all": [0.3, 0.5, 0.2], "cw3-1": [0.2, 0.5, 0.3], "cw3-2": [0.4, 0.5, 0.1]}
    assert list(tables) == ["settings", *(f"compare-recall-{name}" for name in wanted)]
    for name, values in wanted.items():
        assert values_of(tables[f"compare-recall-{name}"]) == pytest.approx(values)


def test_variants_are_compared_with_their_likes_or_the_only_other_one(tmp_path):
    for name, weights in (("both", (1.0, 10.0)), ("plain", (10.0,)), ("light", (0.1,))):
        for number, weight in enumerate(weights):
            write_fleet(tmp_path / name / str(number), "recall", "push,hammer", (0, 1),
                        level(0.1 * number, 0.5), distillation_weight=weight)  # fmt: skip

    def compared(first, second):
        return compare(tmp_path / first, tmp_path / second, tmp_path / "out", figures=False)

    assert compared("both", "plain").collection.labels == ["both: RECALL", "plain: RECALL"]
    assert compared("plain", "light").collection.labels == ["plain: RECALL", "light: RECALL, λ 0.1"]
    with pytest.raises(BadValueError, match=r"RECALL, λ 1.*recall report"):
        compared("both", "light")


def test_equal_runs_differ_by_nothing(tmp_path):
    for name in ("a", "b"):
        write_fleet(tmp_path / name, "recall", "push,hammer", (0, 1, 2))
    settings, metrics = compare(
        tmp_path / "a", tmp_path / "b", tmp_path / "o", figures=False
    ).tables
    assert [row.heading for row in settings.rows] == ["none"]
    assert metrics.rows[0].cells[2].ours == Estimate(0.0, (0.0, 0.0))


def test_folders_with_nothing_in_common_are_refused(tmp_path):
    write_fleet(tmp_path / "a", "recall", "push,hammer")
    write_fleet(tmp_path / "b", "ewc", "push,hammer")
    write_fleet(tmp_path / "c", "recall", "hammer,push")
    for other in ("b", "c"):
        folders = tmp_path / "a", tmp_path / other
        with pytest.raises(BadValueError, match=f"`recall report {folders[0]} {folders[1]}`"):
            compare(*folders, tmp_path / "out")
    with pytest.raises(BadValueError, match="missing has no runs"):
        compare(tmp_path / "a", tmp_path / "missing", tmp_path / "out")
    assert not (tmp_path / "out").exists()
