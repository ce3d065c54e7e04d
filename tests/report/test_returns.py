"""Tasks that do not report success, and warnings of fleets in training."""

import json

import numpy as np
import pytest

from recall.analysis.collection import gather
from recall.analysis.frames import analyse, list_of
from recall.report.build import problems_of
from recall.report.figures import Scene, Skipped, all_figures
from recall.report.summary import verdicts
from recall.report.tables import all_tables
from tests.factories.figures import curve
from tests.factories.folders import EVERY, STEPS, append_training, write_fleet
from tests.factories.tables import tables_of

THREE = "push,hammer,window-close"


def forgets_half(seed, position, step):
    """Learns a task fully and keeps half of it from the next stage on."""
    if step <= position * STEPS:
        return 0.0
    return 1.0 if step <= (position + 1) * STEPS else 0.5


def test_warnings_of_unfinished_fleets_are_problems_even_before_an_evaluation(tmp_path):
    warning = {"run": 1, "step": 100, "position": 0, "health": "collapsed_temperature",
               "message": "the temperature of push has collapsed"}  # fmt: skip
    going = write_fleet(tmp_path / "a", "ewc", THREE, finished=False, until=EVERY)
    young = write_fleet(tmp_path / "b", "recall", THREE, finished=False, until=EVERY)
    (young / "evaluations.jsonl").write_text("")
    for folder in (going, young):
        append_training(folder, warning)
    told = problems_of(analyse(gather(tmp_path)))
    assert any("EWC: collapsed temperature in 1 of 2 runs" in line for line in told)
    assert any(f"{young} at step 100: the temperature of push" in line for line in told)


def write_silent(folder, success=lambda *_: 0.0, sequence="push,hammer", **fleet):
    """Write a fleet whose tasks showed no success before training; returns are 0 and 10."""
    write_fleet(folder, "ewc", sequence, success=success, **fleet)
    description = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(
        json.dumps(description | {"without_success": ["push", "hammer"]})
    )
    return folder


@pytest.fixture
def silent(tmp_path):
    return write_silent(tmp_path / "a")


def test_returns_stand_instead_of_success(silent):
    analysis = analyse(gather(silent))
    tables = {table.name: table for table in all_tables(analysis)}
    assert "push,hammer" not in tables
    assert "push,hammer-tasks" not in tables
    table = tables["push,hammer-returns"]
    assert [cell.estimate.value for cell in table.rows[0].cells] == [0.0, 0.0, 10.0, 10.0]
    assert "do not report success" in table.notes[-1]
    (verdict,) = verdicts(analysis)
    assert "table of returns" in verdict.sentences[0]
    found = {each.kind: each for each in all_figures(Scene(analysis.collection))}
    drawn = found["task_curves"]
    assert "return" in drawn.title
    assert np.allclose(curve(drawn.figure.axes[1], "EWC")[1], 10.0)
    for kind in ("average_success", "current_task", "seeds"):
        assert isinstance(found[kind], Skipped)


def test_tasks_learned_alone_have_returns_too(tmp_path):
    (row,) = tables_of(write_silent(tmp_path, sequence="push"))["single-returns"].rows
    assert (row.heading, [cell.estimate.value for cell in row.cells]) == ("push", [0.0, 0.0])


def test_tasks_that_were_solved_report_success_whatever_was_seen_before_training(tmp_path):
    write_silent(tmp_path / "a", success=forgets_half, seeds=(0,))
    never = write_silent(tmp_path / "b", seeds=(1,))  # a success of 0, not an unknown one
    analysis = analyse(gather(tmp_path))
    assert list_of(analysis.scores, "seed") == [0, 1]
    assert not any(run.without_success for run in analysis.collection.runs)
    assert "push,hammer-returns" not in tables_of(tmp_path)
    assert "push,hammer" not in tables_of(never)


def test_a_task_that_was_solved_says_nothing_of_the_others(tmp_path):
    write_silent(tmp_path, success=lambda seed, position, step: float(position == 0))
    assert {run.without_success for run in gather(tmp_path).runs} == {("hammer",)}


def test_returns_stand_beside_success_that_is_never_reached(tmp_path):
    write_fleet(tmp_path / "a", "ewc", "push,hammer", success=lambda *_: 0.0)
    tables = tables_of(tmp_path)
    assert {"push,hammer", "push,hammer-returns"} <= set(tables)
    write_fleet(tmp_path / "b", "recall", "push,hammer")
    assert "push,hammer-returns" not in tables_of(tmp_path)
