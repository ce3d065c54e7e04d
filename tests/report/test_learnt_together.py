"""Multi-task learns all tasks at once: nothing is just learnt, nothing forgotten."""

import numpy as np
import pytest

from recall.analysis.collection import gather
from recall.analysis.scores import ScoreBoard
from recall.report.figures import Scene
from tests.factories.figures import axes_of, heat
from tests.factories.folders import write_fleet
from tests.factories.tables import cell_of, tables_of


def rises(seed, position, step):
    """All tasks together."""
    return min(1.0, step / 2_000)


@pytest.fixture
def both(tmp_path):
    """Write multi-task and RECALL on these sequences."""

    def write(sequences):
        write_fleet(tmp_path / "a", "multi_task", sequences, success=rises)
        write_fleet(tmp_path / "b", "recall", sequences)
        return tmp_path

    return write


def test_pairs_have_no_forgetting(both):
    tables = tables_of(both(["pair-0-1", "pair-1-0"]))
    forgetting = "first task's forgetting"
    assert cell_of(tables["pairs"], "Multi-task", forgetting).ours is None
    assert cell_of(tables["pairs"], "RECALL", forgetting).ours is not None
    assert cell_of(tables["pairs"], "Multi-task", "first task").ours.value == 1.0
    lost = "first task loses more than 0.1"
    assert cell_of(tables["pairs-counts"], "Multi-task", lost).ours is None


def test_no_task_is_just_learnt(both):
    tables = tables_of(both(["cw3-1", "cw3-2"]))
    assert tables["cw3-tasks-learnt"].columns == ("RECALL",)
    assert tables["cw3-tasks-end"].columns == ("RECALL", "Multi-task")


def test_multi_task_alone_has_no_table_of_what_was_just_learnt(tmp_path):
    write_fleet(tmp_path, "multi_task", ["cw3-1", "cw3-2"], success=rises)
    assert "cw3-tasks-learnt" not in tables_of(tmp_path)


def test_the_map_of_tasks_leaves_its_forgetting_blank(both):
    end, lost = (
        dict(zip(["RECALL", "Multi-task"], heat(axes), strict=True))
        for axes in axes_of(Scene(gather(both("cw10"))), "task_map")
    )
    assert np.isfinite(end["Multi-task"]).all()
    assert np.isnan(lost["Multi-task"]).all()
    assert np.isfinite(lost["RECALL"]).all()


def test_it_needs_no_evaluation_at_the_ends_of_stages(tmp_path):
    write_fleet(tmp_path, "multi_task", "push,hammer,window-close", evaluate_every=1_500)
    board = ScoreBoard(gather(tmp_path))
    assert board.problems == []
    assert board.get("Multi-task", "push,hammer,window-close") is not None
