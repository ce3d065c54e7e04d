"""Sequences of which all or some tasks do not report success."""

import csv
import warnings

import numpy as np
import pytest

import recall
from recall.analysis.collection import gather
from recall.analysis.frames import analyse, list_of
from recall.analysis.metrics import performance_over_time
from recall.report.figures import Figure, Scene, Skipped, all_figures
from recall.report.summary import verdicts
from tests.factories.figures import curve
from tests.factories.folders import STEPS, write_fleet
from tests.factories.tables import cell_of, tables_of


def write_silent(folder, success=lambda *_: 0.0, sequence="push,hammer", **fleet):
    """Write a fleet whose tasks showed no success before training; returns are 0 and 10."""
    silent = ["push", "hammer"]
    return write_fleet(folder, "ewc", sequence, success=success, silent=silent, **fleet)


def test_returns_stand_instead_of_success(tmp_path):
    analysis = analyse(gather(write_silent(tmp_path / "a")))
    (table,) = tables_of(tmp_path).values()
    assert table.name == "push,hammer-returns"
    assert [cell.estimate.value for cell in table.rows[0].cells] == [0.0, 0.0, 10.0, 10.0]
    assert "do not report success" in table.notes[-1]
    (verdict,) = verdicts(analysis)
    assert "table of returns" in verdict.sentences[0]
    found = {each.kind: each for each in all_figures(Scene(analysis.collection))}
    assert np.allclose(curve(found["task_curves"].figure.axes[1], "EWC")[1], 10.0)
    for kind in ("average_success", "current_task", "seeds"):
        assert isinstance(found[kind], Skipped)


def test_tasks_learned_alone_have_returns_too(tmp_path):
    (row,) = tables_of(write_silent(tmp_path, sequence="push"))["single-returns"].rows
    assert (row.heading, [cell.estimate.value for cell in row.cells]) == ("push", [0.0, 0.0])


def test_tasks_that_any_run_solved_report_success_whatever_was_seen_before_training(tmp_path):
    write_silent(tmp_path / "a", success=lambda seed, position, step: float(position == 0))
    assert {run.without_success for run in gather(tmp_path).runs} == {("hammer",)}
    never = write_silent(tmp_path / "b", seeds=(2,))  # a success of 0, not an unknown one
    analysis = analyse(gather(tmp_path))
    assert list_of(analysis.scores, "seed") == [0, 1, 2]
    assert list_of(analysis.scores, "task") == ["push"]
    assert "push,hammer" not in tables_of(never)


def test_returns_stand_beside_success_that_is_never_reached(tmp_path):
    write_fleet(tmp_path / "a", "ewc", "push,hammer", success=lambda *_: 0.0)
    assert {"push,hammer", "push,hammer-returns"} <= set(tables_of(tmp_path))
    write_fleet(tmp_path / "b", "recall", "push,hammer")
    assert "push,hammer-returns" not in tables_of(tmp_path)


NOTE = "Without hammer, whose success is not reported."


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Write runs that learn push to 0.8 and keep it at 0.6; hammer says nothing of success."""

    def success(seed, position, step):
        own = position * STEPS < step <= (position + 1) * STEPS
        return 0.0 if position == 1 else 0.8 if own else 0.6

    folder = tmp_path_factory.mktemp("mixed")
    for method in ("recall", "ewc"):
        write_fleet(folder / method, method, "push,hammer,push", (0, 1), success, silent=["hammer"])
    return folder


def test_means_are_over_the_tasks_that_report_success(mixed):
    tables = tables_of(mixed)
    table = tables["push,hammer,push"]
    for metric, value in (("average performance", 0.7), ("forgetting", 0.1),
                          ("interquartile mean", 0.7)):  # fmt: skip
        assert cell_of(table, "RECALL", metric).estimate.value == pytest.approx(value)
    assert NOTE in table.notes
    assert tables["push,hammer,push-tasks"].columns == ("1 push", "3 push")
    assert "2 hammer, at the end" in tables["push,hammer,push-returns"].columns
    curve = gather(mixed).runs[0].curve()
    levels = [0.7] * 4 + [0.6] * 4 + [0.7] * 4
    assert performance_over_time(curve).tolist() == pytest.approx(levels)
    assert np.isnan(curve.success[:, 1]).all()


def test_a_report_says_everywhere_what_is_left_out(mixed, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # means of nothing
        recall.make_report(mixed, tmp_path, figures=False)
        found = list(all_figures(Scene(gather(mixed), detailed=None)))
    captions = {each.kind: each.caption for each in found if isinstance(each, Figure)}
    assert NOTE in captions["average_success"]
    assert NOTE in captions["seeds"]
    assert NOTE in (tmp_path / "tables" / "push-hammer-push.tex").read_text()
    rows = list(csv.DictReader((tmp_path / "data" / "runs.csv").open()))
    assert [float(row["average_performance"]) for row in rows] == pytest.approx([0.7] * 4)
