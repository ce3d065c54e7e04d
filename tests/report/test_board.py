"""The board: a table for each protocol, with every method that was run by it."""

import pytest

from recall.cli import main
from recall.errors import BadValueError
from recall.report.build import make_board
from tests.factories.folders import write_fleet


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Write fleets of two methods on two sequences of CW3, one of them in two variants."""
    folder = tmp_path_factory.mktemp("runs")
    both = ["cw3-1", "cw3-2"]
    write_fleet(folder / "half", "ewc", both, success=lambda *_: 0.5)
    write_fleet(folder / "good", "recall", both)
    write_fleet(folder / "one", "recall", ["cw3-1"], success=lambda *_: 0.1, n_step=1)
    write_fleet(folder / "long", "recall", ["cw3-1"], steps_per_task=2_000)
    write_fleet(folder / "full", "recall", ["cw3-1"], observation="full", horizon_steps=100)
    return folder


def test_methods_are_compared_within_their_protocol_alone(runs, tmp_path):
    made = make_board(runs, tmp_path / "board")
    found = {
        table.title: [(row.heading, row.cells[-2].text, row.cells[-1].text) for row in table.rows]
        for table in made.tables
    }
    good, one = "RECALL", "RECALL, n step 1"
    alone = "cw3-1 (push, window-close, hammer): reward v1, observation"
    assert found == {
        "CW3, 2 sequences (cw3-1, cw3-2): reward v1, observation classic, 1,000 steps per task": [
            (good, "4", f"{runs}/good"),
            ("EWC", "4", f"{runs}/half"),
        ],
        f"{alone} classic, 1,000 steps per task": [
            (good, "2", f"{runs}/good"),
            ("EWC", "2", f"{runs}/half"),
            (one, "2", f"{runs}/one"),
        ],
        f"{alone} classic, 2,000 steps per task": [("RECALL", "2", f"{runs}/long")],
        f"{alone} full, horizon steps 100, 1,000 steps per task": [
            ("RECALL, observation full, horizon steps 100", "2", f"{runs}/full")
        ],
    }
    first = made.tables[0]
    assert first.columns[0] == "average performance"
    assert [row.cells[0].estimate.value for row in first.rows] == [1.0, 0.5]


def test_the_command_writes_a_page(runs, tmp_path, capsys):
    main(["board", str(runs), "--out", str(tmp_path / "board")])
    assert "4 tables" in capsys.readouterr().out
    page = (tmp_path / "board" / "index.html").read_text()
    assert f"<title>Board of {runs}</title>" in page
    assert "performs best" not in page
    write_fleet(tmp_path / "alone", sequence="push")
    with pytest.raises(BadValueError, match="single tasks"):
        make_board(tmp_path / "alone", tmp_path / "board")
