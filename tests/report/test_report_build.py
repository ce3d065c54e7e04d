"""A whole report: from folders to files, which replace those of an earlier report alone."""

import html
import json
import os
import subprocess
import sys
import time

import pytest

import recall
from recall.analysis.collection import gather
from recall.analysis.frames import analyse
from recall.analysis.metrics import Measure
from recall.cli import main
from recall.errors import BadValueError, UnknownNameError
from recall.report.build import problems_of
from recall.report.figures import FIGURES, Scene
from tests.factories.figures import drawn
from tests.factories.folders import STEPS, append_training, write_fleet


def files_of(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def runs(tmp_path):
    write_fleet(tmp_path / "runs" / "a", "recall", "cw3-1")
    write_fleet(tmp_path / "runs" / "b", "ewc", "cw3-1", finished=False, until=STEPS)
    return tmp_path / "runs"


def test_a_report_says_what_was_left_out_and_made_twice_says_the_same(runs, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    for name in ("one", "two"):
        made = recall.make_report(str(runs), tmp_path / name, str(runs / "a"), figures=False)
    page = (tmp_path / "one" / "index.html").read_text()
    assert "CW3: average performance" in page
    assert "b is unfinished" in page
    names = {path.name for path in (tmp_path / "one" / "tables").iterdir()}
    assert {"cw3-forgetting.md", "cw3-forgetting.csv", "cw3-1-tasks.tex"} <= names
    assert (len(made.collection.runs), len(made.collection.problems)) == (4, 1)
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")


def test_the_command_shows_tables_and_takes_a_window(tmp_path, capsys):
    often = {"evaluate_every": 100}
    write_fleet(tmp_path / "a", "recall", "push,hammer", **often)
    write_fleet(
        tmp_path / "single", sequence=[["push"], ["hammer"]], success=lambda *_: 0.5, **often
    )
    folders = [str(tmp_path / "a"), "--reference", str(tmp_path / "single")]
    out = ["--no-figures", "--out", str(tmp_path / "out")]
    main(["report", *folders, *out, "--window", "2"])
    shown = capsys.readouterr().out
    # Evaluations of 0.9 and 1 end each task's stage; the first task has 1 at the end.
    assert "0.97" in shown
    assert "-0.03" in shown
    assert "means of its last 2 of 10 evaluations" in " ".join(shown.split())
    # The area is (0.1 + 0.2 + ... + 1) / 10 = 0.55: (0.55 - 0.5) / 0.5.
    assert "0.10" in shown
    assert "2 runs" in shown
    main(["report", *folders, *out, "--window", "1"])
    assert "1.00" in capsys.readouterr().out
    main(["report", *folders, *out, "--success", "last", "--mode", "deterministic"])
    assert "0.50" in capsys.readouterr().out


def test_an_interval_without_a_lower_bound_is_shown_everywhere(tmp_path):
    write_fleet(tmp_path / "runs" / "a", "recall", success=lambda *_: 0.5)
    for task in ("push", "hammer"):  # one of two seeds is perfect alone
        write_fleet(tmp_path / "runs" / task, sequence=task, success=lambda seed, *_: float(seed))
    out = tmp_path / "out"
    main(["report", str(tmp_path / "runs"), "--out", str(out), "--no-figures"])
    assert "[-inf, 0.50]" in (out / "tables" / "push-hammer.md").read_text()
    assert "-inf" in (out / "tables" / "push-hammer.csv").read_text()
    drawn(Scene(gather(tmp_path / "runs")), "seeds").figure.draw_without_rendering()


def test_a_reader_that_leaves_early_gets_all_files(tmp_path):
    runs = write_fleet(tmp_path / "runs" / "a", "recall", "push,hammer")
    words = [sys.executable, "-m", "recall", "report", str(runs), "--no-figures", "--out"]
    out = tmp_path / "out"
    with subprocess.Popen([*words, str(out)], stdout=subprocess.PIPE) as command:
        command.stdout.close()  # like `| head -0`
    assert {"index.html", "tables/push-hammer.csv"} <= {*files_of(out)}


def test_training_records_that_cannot_be_used_are_told(tmp_path):
    folder = write_fleet(tmp_path / "a", "recall", "push,hammer")
    path = folder / "training.jsonl"
    odd = b'{"run": 0, "step": 9, "loss_q": {"a": 1}, "q_value": [[1], "x"]}'
    path.write_bytes(b"\x00\xffgarbage\n" + odd + b"\n" + path.read_bytes())
    analysis = analyse(gather(folder))
    assert analysis.collection.runs[0].training["loss_q"][0] == 250.0
    (problem,) = problems_of(analysis)
    assert str(path) in problem
    assert "2 lines" in problem


def test_problems_and_cautions_are_told_everywhere(tmp_path, capsys):
    folder = write_fleet(tmp_path / "runs", "recall", "push,hammer", seeds=range(3))
    message = "the <first> & only"
    health = {"run": 1, "step": 500, "position": 0, "health": "odd", "message": message}
    append_training(folder, health)
    main(["report", str(folder), "--no-figures", "--out", str(tmp_path / "out")])
    texts = [(tmp_path / "out" / "index.html").read_text()]
    texts.append(" ".join(capsys.readouterr().out.split()))
    for text in texts:
        assert "as few as 3 runs of a" in text
        assert message in html.unescape(text)
    assert message not in texts[0]
    assert "Average performance: RECALL" in texts[0]


def test_nothing_to_report_says_why(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadValueError, match=r"no runs to report.*empty.*missing"):
        recall.make_report([tmp_path / "empty", tmp_path / "missing"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [("folders", None), ("folders", b"runs"), ("out", 5), ("reference", 3), ("measure", 0),
     ("detailed", -1), ("methods", 3)],
)  # fmt: skip
def test_an_argument_that_is_refused_is_named(runs, tmp_path, name, value):
    given = {"folders": runs, "out": tmp_path / "out", "figures": False} | {name: value}
    with pytest.raises(BadValueError) as refused:
        recall.make_report(**given)
    assert str(refused.value).startswith(f"{name} is {value!r}")
    assert not (tmp_path / "out").exists()
    with pytest.raises(UnknownNameError, match="unknown measure of success 'return'"):
        recall.make_report(runs, tmp_path / "out", measure=Measure(field="return"))


@pytest.fixture
def one(tmp_path):
    return write_fleet(tmp_path / "runs", "recall", "push,hammer", seeds=(0,))


@pytest.fixture
def earlier(one, tmp_path):
    """The folder of a report, with a file of its owner."""
    out = tmp_path / "report"
    recall.make_report(one, out, figures=False)
    (out / "tables" / "mine.md").write_text("kept")
    return out


def test_a_report_that_is_interrupted_leaves_the_earlier_one(one, earlier, monkeypatch):
    def stopped(scene):
        raise KeyboardInterrupt

    before = files_of(earlier)
    monkeypatch.setitem(FIGURES, next(iter(FIGURES)), stopped)
    with pytest.raises(KeyboardInterrupt):
        recall.make_report(one, earlier)
    assert files_of(earlier) == before
    assert sorted(path.name for path in earlier.iterdir()) == [
        "data", "files.json", "index.html", "tables"
    ]  # fmt: skip


def test_a_report_that_ends_while_files_are_replaced_leaves_none_unlisted(earlier, tmp_path):
    other = write_fleet(tmp_path / "other", "ewc", "hammer,push")
    (earlier / "index.html").unlink()
    (earlier / "index.html").mkdir()  # in the way: no file can replace it
    with pytest.raises(IsADirectoryError):
        recall.make_report(other, earlier, figures=False)
    (earlier / "index.html").rmdir()
    recall.make_report(other, earlier, figures=False)
    listed = {*json.loads((earlier / "files.json").read_text())}
    assert {*files_of(earlier)} - listed == {"files.json", "tables/mine.md"}
    assert "tables/push-hammer.md" not in files_of(earlier)


def test_a_list_of_files_that_was_edited_removes_nothing_elsewhere(one, tmp_path):
    (tmp_path / "precious").write_text("kept")
    out = tmp_path / "out"
    out.mkdir()
    (out / "index.html").write_text("of an earlier report")
    (out / "files.json").write_text('["index.html", "../precious", "/etc/hosts", "."]')
    recall.make_report(one, out, figures=False)
    assert (tmp_path / "precious").exists()


@pytest.mark.parametrize(
    "files",
    [
        {"files.json": '["notes.txt"]', "notes.txt": "kept"},
        {"files.json": "{"},
        {"index.html": "my own page"},
    ],
)
def test_a_folder_that_holds_no_report_is_left_alone(one, tmp_path, files):
    out = tmp_path / "out"
    out.mkdir()
    for name, content in files.items():
        (out / name).write_text(content)
    with pytest.raises(BadValueError, match=r"is not empty, and .* is not an earlier report's"):
        recall.make_report(one, out, figures=False)
    assert {path.name: path.read_text() for path in out.iterdir()} == files


@pytest.mark.slow
def test_a_first_report_that_was_killed_does_not_refuse_the_next(one, tmp_path):
    out = tmp_path / "report"
    for name in (".new-just-now", ".new-yesterday"):
        (out / name / "tables").mkdir(parents=True)
    for path in (out / ".new-yesterday" / "tables", out / ".new-yesterday"):
        os.utime(path, (time.time() - 86_400,) * 2)
    made = recall.make_report(one, out, detailed=0)
    # The younger one may be another report's, which is being made.
    assert [path.name for path in out.glob(".new-*")] == [".new-just-now"]
    paths = [path for drawn in made.figures for path in drawn.paths.values()]
    assert paths
    assert all(path.is_file() and path.parent == out / "figures" for path in paths)
