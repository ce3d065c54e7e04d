"""The same labels stand for a method in tables and in figures."""

import pytest

from recall.analysis.collection import gather
from recall.analysis.main_labels import main_labels
from recall.analysis.scores import ScoreBoard
from recall.report.figures.groups import shown_labels
from recall.report.tables.cells import main_labels_of
from tests.factories.folders import write_fleet, write_log

TASKS = ["push-v1", "window-close-v1", "hammer-v1"]


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ([{}], [{}, {"cl_reg_coef": 10.0}], ["EWC", "EWC, imported"]),
        # Neither of theirs is plain: what ours are cannot stand for them.
        (
            [{}],
            [{"cl_reg_coef": 1.0}, {"cl_reg_coef": 10.0}],
            ["EWC", "EWC, imported, cl reg coef 1", "EWC, imported, cl reg coef 10"],
        ),
        ([{"weight": 2.0}], [{}], ["EWC, λ 2", "EWC, imported"]),
        ([{}, {"weight": 2.0}], [], ["EWC"]),
        ([{"weight": 1.0}, {"weight": 2.0}], [], ["EWC, λ 1", "EWC, λ 2"]),
    ],
)
def test_tables_and_figures_show_the_same(tmp_path, ours, theirs, expected):
    for number, changes in enumerate(ours):
        write_fleet(tmp_path / f"ours-{number}", "ewc", "cw3-1", seeds=(0,), **changes)
    for number, config in enumerate(theirs):
        write_log(tmp_path / f"theirs-{number}", TASKS, cl_method="ewc", **config)
    write_fleet(tmp_path / "other", "l2", "cw3-1", seeds=(0,))
    found = gather(tmp_path)
    board = ScoreBoard(found)
    assert set(main_labels(found.runs)) == {*expected, "L2"}
    assert shown_labels(found) == main_labels_of(board, board.labels) == main_labels(found.runs)
