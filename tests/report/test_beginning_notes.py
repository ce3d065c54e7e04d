"""The note on runs that are identical at first."""

import pytest

from recall.analysis.collection import gather
from recall.analysis.scores import ScoreBoard
from recall.report.tables.beginning_notes import beginning_notes
from tests.factories.folders import write_fleet


def notes(folder) -> tuple[str, ...]:
    return beginning_notes(ScoreBoard(gather(folder)).scores.values())


def test_runs_that_are_equal_in_their_first_tasks_are_named(tmp_path):
    write_fleet(tmp_path / "a", "recall", ["push,hammer", "push,window-close", "hammer,push"])
    (note,) = notes(tmp_path)
    assert note.endswith("not independent: push,hammer and push,window-close (1 task).")


@pytest.mark.parametrize("apart", ["other numbers", "other seeds", "other methods"])
def test_runs_that_only_have_the_same_tasks_are_not(tmp_path, apart):
    write_fleet(tmp_path / "a", "recall", "push,hammer", seeds=(0, 1))
    write_fleet(
        tmp_path / "b",
        "ewc" if apart == "other methods" else "recall",
        "push,window-close",
        seeds=(2, 3) if apart == "other seeds" else (0, 1),
        success=lambda seed, task, step: 0.25 if apart == "other numbers" else 1.0,
    )
    assert notes(tmp_path) == ()
