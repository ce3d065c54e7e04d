"""Sequences of which some tasks do not report success."""

import csv
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import recall
from recall.analysis.collection import gather
from recall.analysis.metrics import performance_over_time
from tests.factories.folders import write_fleet
from tests.factories.tables import cell_of, tables_of

NOTE = "Without hammer, whose success is not reported."


def write_mixed(folder: Path, method: str = "recall", sequence: str = "push,hammer,push") -> Path:
    """Push is learned to 0.8 and then kept at 0.6; hammer says nothing of success."""

    def success(seed: int, position: int, step: int) -> float:
        if position == 1:
            return 0.0
        return 0.8 if position * 1_000 < step <= (position + 1) * 1_000 else 0.6

    write_fleet(folder, method, sequence, (0, 1), success)
    description = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(description | {"without_success": ["hammer"]}))
    return folder


@pytest.fixture(scope="module")
def mixed(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("mixed")
    write_mixed(folder / "recall")
    write_mixed(folder / "ewc", "ewc")
    return folder


def test_means_are_over_the_tasks_that_report_success(mixed):
    tables = tables_of(mixed)
    table = tables["push,hammer,push"]
    assert cell_of(table, "RECALL", "average performance").estimate.value == pytest.approx(0.7)
    assert cell_of(table, "RECALL", "forgetting").estimate.value == pytest.approx(0.1)
    assert cell_of(table, "RECALL", "interquartile mean").estimate.value == pytest.approx(0.7)
    assert NOTE in table.notes
    assert table.title == "Results on push, hammer, push"
    assert tables["push,hammer,push-tasks"].columns == ("1 push", "3 push")
    assert "2 hammer, at the end" in tables["push,hammer,push-returns"].columns


def test_curves_are_over_the_same_tasks(mixed):
    run = gather(mixed).runs[0]
    assert performance_over_time(run.curve()).tolist() == pytest.approx(
        [0.7] * 4 + [0.6] * 4 + [0.7] * 4
    )
    assert np.isnan(run.curve().success[:, 1]).all()
    assert not np.isnan(run.curve(field="return").success).any()


def test_a_report_says_everywhere_what_is_left_out(mixed, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # means of nothing
        report = recall.make_report(mixed, tmp_path / "report", detailed=None)
    captions = {figure.kind: figure.caption for figure in report.figures}
    assert NOTE in captions["average_success"]
    assert NOTE in captions["seeds"]
    assert NOTE in (tmp_path / "report" / "tables" / "push-hammer-push.tex").read_text()
    rows = list(csv.DictReader((tmp_path / "report" / "data" / "runs.csv").open()))
    assert [float(row["average_performance"]) for row in rows] == pytest.approx([0.7] * 4)
