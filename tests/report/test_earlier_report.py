"""An earlier report in the same folder stays until the new one is complete."""

import json
import os
import time

import pytest

import recall
from recall.errors import BadValueError
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


def test_a_report_that_is_interrupted_leaves_the_earlier_one(runs, earlier, monkeypatch):
    def stopped(scene):
        raise KeyboardInterrupt

    before = files_of(earlier)
    for kind in {*FIGURES} - {"seeds"}:
        monkeypatch.delitem(FIGURES, kind)
    monkeypatch.setitem(FIGURES, "stopped", stopped)  # the last to be drawn
    with pytest.raises(KeyboardInterrupt):
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
    recall.make_report(other, earlier, figures=False)
    assert "tables/push-hammer.md" not in files_of(earlier)
    listed = set(json.loads((earlier / "files.json").read_text()))
    assert set(files_of(earlier)) == listed | {"files.json", "tables/mine.md"}


def test_a_list_of_files_that_was_edited_removes_nothing_elsewhere(runs, tmp_path):
    (tmp_path / "precious").write_text("kept")
    out = tmp_path / "out"
    out.mkdir()
    (out / "files.json").write_text('["index.html", "../precious", "/etc/hosts", "."]')
    recall.make_report(runs, out, figures=False)
    assert (tmp_path / "precious").exists()


@pytest.mark.parametrize(
    "files",
    [
        {"files.json": '["notes.txt"]', "notes.txt": "kept"},
        {"files.json": "{"},
        {"index.html": "my own page"},
    ],
)
def test_a_folder_that_holds_no_report_is_left_alone(runs, tmp_path, files):
    out = tmp_path / "out"
    out.mkdir()
    for name, content in files.items():
        (out / name).write_text(content)
    with pytest.raises(BadValueError, match=r"is not empty, and .* is not an earlier report's"):
        recall.make_report(runs, out, figures=False)
    assert {path.name: path.read_text() for path in out.iterdir()} == files


@pytest.mark.slow
def test_a_first_report_that_was_killed_does_not_refuse_the_next(runs, tmp_path):
    out = tmp_path / "report"
    for name in (".new-just-now", ".new-yesterday"):
        (out / name / "tables").mkdir(parents=True)
    for path in (out / ".new-yesterday" / "tables", out / ".new-yesterday"):
        os.utime(path, (time.time() - 86_400,) * 2)
    made = recall.make_report(runs, out, detailed=0)
    # The younger one may be another report's, which is being made.
    assert [path.name for path in out.glob(".new-*")] == [".new-just-now"]
    paths = [path for drawn in made.figures for path in drawn.paths.values()]
    assert paths
    assert all(path.is_file() and path.parent == out / "figures" for path in paths)
