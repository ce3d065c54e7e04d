"""Success and time by the number of tasks, the time from the study that launched the fleets."""

import json

import pytest

from recall.analysis.collection import gather
from recall.analysis.scores import ScoreBoard
from recall.report.figures import Scene, all_figures
from recall.report.tables.by_length import scaling_tables
from recall.report.tables.table import Table
from tests.factories.figures import curve, titles
from tests.factories.folders import STEPS, write_fleet

LENGTHS = {"two": "push,hammer", "three": "push,hammer,push", "four": "push,hammer,push,hammer"}
SECONDS = {"two": 3_600.0, "three": 10_800.0, "four": 28_800.0}


@pytest.fixture
def study(tmp_path):
    for name, sequence in LENGTHS.items():
        write_fleet(tmp_path / name, "recall", sequence)
    fleets = [{"name": name, "seconds": seconds} for name, seconds in SECONDS.items()]
    (tmp_path / "study.json").write_text(json.dumps({"schema": 1, "fleets": fleets}))
    return tmp_path


def tables_of(folder) -> dict[str, Table]:
    board = ScoreBoard(gather(folder))
    return {table.name: table for table in scaling_tables(board)}


def values(table: Table) -> list[float]:
    (row,) = table.rows
    return [cell.ours.value for cell in row.cells]


def test_time_is_shared_by_the_runs_of_a_fleet(study):
    tables = tables_of(study)
    assert tables["scaling-time"].columns == ("2 tasks", "3 tasks", "4 tasks")
    assert "hours" in tables["scaling-time"].title
    # Two runs in each fleet.
    assert values(tables["scaling-time"]) == [0.5, 1.5, 4.0]
    milliseconds = [
        1000 * 1800 / (2 * STEPS),
        1000 * 5400 / (3 * STEPS),
        1000 * 14400 / (4 * STEPS),
    ]
    assert values(tables["scaling-step-time"]) == pytest.approx(milliseconds)


def test_success_stands_beside_it(study):
    # A stage ends with 0.25, 0.5, 0.75 and 1, of which the last one counts.
    assert values(tables_of(study)["scaling-average_performance"]) == [1.0, 1.0, 1.0]
    assert "scaling-forgetting" in tables_of(study)


def test_the_figure_has_the_time_of_a_step(study):
    (figure,) = all_figures(Scene(gather(study)), ["scaling"])
    axes = figure.figure.axes[-1]
    assert titles([axes]) == ["milliseconds of a step"]
    assert curve(axes, "RECALL")[1].tolist() == [900.0, 1800.0, 3600.0]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"schema": 2, "fleets": []}', "schema 2"),
        ('{"schema": 1}', "lacks 'fleets'"),
        ('{"schema": 1, "fle', "cannot be used"),
        ("[]", "cannot be used"),
    ],
)
def test_a_bad_study_costs_the_times_alone(study, content, words):
    (study / "study.json").write_text(content)
    (problem,) = gather(study).problems
    assert words in problem
    assert "training times of its fleets are left out" in problem
    assert set(tables_of(study)) == {"scaling-average_performance", "scaling-forgetting"}


def test_two_lengths_make_no_curve(tmp_path):
    for name in ("two", "three"):
        write_fleet(tmp_path / name, "recall", LENGTHS[name])
    assert not tables_of(tmp_path)


def add_lengths(folder, method):
    for name in ("three", "four"):
        write_fleet(folder / f"{method}-{name}", method, LENGTHS[name])


def column(table: Table, name: str):
    place = table.columns.index(name)
    return {row.heading: row.cells[place] for row in table.rows}


def test_only_sequences_that_all_methods_have_count(tmp_path):
    add_lengths(tmp_path, "perfect_memory")
    add_lengths(tmp_path, "recall")
    write_fleet(tmp_path / "a", "perfect_memory", ["push,hammer", "hammer,push"])
    write_fleet(tmp_path / "b", "recall", ["push,hammer", "hammer,push"])
    write_fleet(tmp_path / "c", "recall", ["push,push-back"], success=lambda *_: 0.0)
    table = tables_of(tmp_path)["scaling-average_performance"]
    found = column(table, "2 tasks")
    assert {label: cell.ours.value for label, cell in found.items()} == {"PM": 1.0, "RECALL": 1.0}
    assert all(cell.bold for cell in found.values())
    assert "2 tasks: the mean over hammer,push, push,hammer." in table.notes
    (figure,) = all_figures(Scene(gather(tmp_path)), ["scaling"])
    axes = figure.figure.axes[0]
    assert [curve(axes, label)[1][0] for label in ("PM", "RECALL")] == [1.0, 1.0]


def test_other_sequences_of_one_length_are_not_compared(tmp_path):
    add_lengths(tmp_path, "perfect_memory")
    add_lengths(tmp_path, "recall")
    write_fleet(tmp_path / "a", "perfect_memory", "push,hammer")
    write_fleet(tmp_path / "b", "recall", "push,push-back", success=lambda *_: 0.0)
    table = tables_of(tmp_path)["scaling-average_performance"]
    assert not any(cell.bold for cell in column(table, "2 tasks").values())
    assert all(cell.bold for cell in column(table, "3 tasks").values())
    assert any("PM has push,hammer; RECALL has push,push-back" in note for note in table.notes)
    (figure,) = all_figures(Scene(gather(tmp_path)), ["scaling"])
    assert "The sequences of 2 tasks are different ones" in figure.caption
