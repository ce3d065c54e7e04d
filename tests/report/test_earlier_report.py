"""An earlier report in the same folder stays until the new one is complete."""

import json
import os
import time

import pytest

import recall
from recall.cli import main
from recall.report.figures import FIGURES
from tests.factories.folders import write_fleet


@pytest.fixture
def runs(tmp_path):
    return write_fleet(tmp_path / "runs", "recall", "push,hammer", seeds=(0,))


@pytest.fixture
def earlier(runs, tmp_path):
    """The folder of a report, with a file of its owner."""
    out = tmp_path / "report"
    recall.make_report(runs, out, figures=False)
    (out / "tables" / "mine.md").write_text("kept")
    return out


def files_of(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_figures_that_cannot_be_drawn_are_refused_at_once(earlier, capsys):
    before = files_of(earlier)
    with pytest.raises(SystemExit) as left:
        main(["report", "missing", "--out", str(earlier), "--detailed", "-1"])
    assert left.value.code == 2
    assert "-1" in capsys.readouterr().err
    assert files_of(earlier) == before


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError])
def test_a_report_that_is_interrupted_leaves_the_earlier_one(runs, earlier, stop, monkeypatch):
    def stopped(scene):
        raise stop

    before = files_of(earlier)
    for kind in {*FIGURES} - {"seeds"}:
        monkeypatch.delitem(FIGURES, kind)
    monkeypatch.setitem(FIGURES, "stopped", stopped)  # the last to be drawn
    with pytest.raises(stop):
        recall.make_report(runs, earlier)
    assert files_of(earlier) == before
    assert sorted(path.name for path in earlier.iterdir()) == [
        "data", "files.json", "index.html", "tables"
    ]  # fmt: skip


def test_a_report_that_ends_while_files_are_replaced_leaves_none_unlisted(runs, earlier, tmp_path):
    other = write_fleet(tmp_path / "other", "ewc", "hammer,push")
    (earlier / "index.html").unlink()
    (earlier / "index.html").mkdir()  # in the way: no file can replace it
    with pytest.raises(IsADirectoryError):
        recall.make_report(other, earlier, figures=False)
    (earlier / "index.html").rmdir()
    recall.make_report(runs, earlier, figures=False)
    listed = set(json.loads((earlier / "files.json").read_text()))
    assert set(files_of(earlier)) == listed | {"files.json", "tables/mine.md"}


@pytest.mark.slow
def test_a_first_report_that_was_killed_does_not_refuse_the_next(runs, tmp_path):
    out = tmp_path / "report"
    for name in (".new-just-now", ".new-yesterday"):
        (out / name / "tables").mkdir(parents=True)
    for path in (out / ".new-yesterday" / "tables", out / ".new-yesterday"):
        os.utime(path, (time.time() - 86_400,) * 2)
    made = recall.make_report(runs, out)
    assert (out / "index.html").exists()
    # The younger one may be another report's, which is being made.
    assert [path.name for path in out.glob(".new-*")] == [".new-just-now"]
    paths = [path for drawn in made.figures for path in drawn.paths.values()]
    assert paths
    assert all(path.is_file() and path.parent == out / "figures" for path in paths)
