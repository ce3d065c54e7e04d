"""Tasks learnt alone: whose runs they are, and returns where success is not reported."""

import json

import numpy as np

from recall.analysis.collection import gather
from recall.analysis.scores import ScoreBoard
from recall.report.build import make_report
from recall.report.figures import Scene, all_figures
from recall.report.summary import nothing_to_compare, verdicts
from recall.report.tables.alone import single_tables
from tests.factories.figures import curve, titles
from tests.factories.folders import write_fleet

REFERENCE = "Forward transfer compares with the runs of fine-tuning here"


def silent(folder, method, task):
    """Write a fleet on one task that does not report success; its return is 0."""
    write_fleet(folder, method, task, success=lambda *_: 0.0)
    description = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(description | {"without_success": [task]}))


def tables_of(folder):
    return {table.name: table for table in single_tables(ScoreBoard(gather(folder)))}


def test_a_single_label_is_named_in_the_title(tmp_path):
    write_fleet(tmp_path / "a", "recall", ["push", "hammer"])
    (table,) = tables_of(tmp_path).values()
    assert table.title == "Tasks learnt alone by RECALL"
    assert table.columns == ("success at the end", "area under the curve")
    # None of these runs is what forward transfer compares with.
    assert table.notes == ("2 runs of each task, 1,000 steps.",)


def test_runs_of_fine_tuning_are_told_to_be_the_reference(tmp_path):
    write_fleet(tmp_path / "a", "recall", "push")
    write_fleet(tmp_path / "b", "fine_tuning", "push", success=lambda *_: 0.5)
    (table,) = tables_of(tmp_path).values()
    assert table.title == "Tasks learnt alone"
    assert table.columns[0] == "Fine-tuning: success at the end"
    assert table.rows[0].cells[0].ours.value == 0.5
    assert table.notes[1].startswith(REFERENCE)


def test_tasks_without_success_have_returns(tmp_path):
    silent(tmp_path / "a", "fine_tuning", "push")
    board = ScoreBoard(gather(tmp_path))
    (table,) = single_tables(board)
    assert table.title == "Tasks learnt alone by Fine-tuning, returns"
    assert table.columns == ("return at the end", "mean return of all evaluations")
    assert [cell.ours.value for cell in table.rows[0].cells] == [0.0, 0.0]
    assert "do not report success" in table.notes[1]
    (figure,) = all_figures(Scene(board.collection), ["task_curves"])
    (axes,) = figure.figure.axes
    assert titles([axes]) == ["push"]
    assert "return" in figure.caption.lower()
    assert np.allclose(curve(axes, "Fine-tuning")[1], 0.0)
    (verdict,) = verdicts(board)
    assert verdict.title == "push, learnt alone"
    assert "does not report success" in verdict.sentences[0]


def test_tasks_with_and_without_success_have_tables_of_their_own(tmp_path):
    silent(tmp_path / "a", "recall", "push")
    write_fleet(tmp_path / "b", "recall", "hammer")
    tables = tables_of(tmp_path)
    assert [row.heading for row in tables["single-tasks"].rows] == ["hammer"]
    assert [row.heading for row in tables["single-returns"].rows] == ["push"]


def test_single_tasks_are_not_told_to_be_unfinished(tmp_path):
    write_fleet(tmp_path / "a", "recall", "push")
    assert "All runs are of single tasks" in nothing_to_compare(ScoreBoard(gather(tmp_path)))
    write_fleet(tmp_path / "b", "recall", "push,hammer", until=500, finished=False)
    assert "No run of a sequence" in nothing_to_compare(ScoreBoard(gather(tmp_path)))


def test_a_report_of_tasks_without_success_has_a_table_and_a_figure(tmp_path):
    silent(tmp_path / "runs", "fine_tuning", "push")
    report = make_report(tmp_path / "runs", tmp_path / "report")
    assert [table.name for table in report.tables] == ["single-returns"]
    assert [drawn.name for drawn in report.figures.drawn] == ["task_curves-alone"]
