"""A whole report: from folders to files, with the bad folders left out and told."""

import pytest
from written import STEPS, write_fleet

import recall
from recall.cli import main
from recall.errors import BadValueError, RecallError
from recall.results.scores import Measure


@pytest.fixture
def runs(tmp_path):
    write_fleet(tmp_path / "runs" / "a", "recall", "cw3-1")
    write_fleet(tmp_path / "runs" / "b", "ewc", "cw3-1", finished=False, until=STEPS)
    (tmp_path / "runs" / "empty").mkdir()
    return tmp_path / "runs"


def test_a_report_has_tables_and_tells_what_was_left_out(runs, tmp_path):
    made = recall.make_report(runs, tmp_path / "out", figures=False)
    page = (tmp_path / "out" / "report.md").read_text()
    assert "### CW3: average performance" in page
    assert "empty is empty" in page
    assert "b is unfinished" in page
    names = {path.name for path in (tmp_path / "out" / "tables").iterdir()}
    assert {"cw3-forgetting.md", "cw3-forgetting.csv", "cw3-1-tasks.tex"} <= names
    assert len(made.collection.runs) == 4
    assert len(made.collection.problems) == 2


def test_a_report_made_twice_says_the_same(runs, tmp_path):
    for name in ("one", "two"):
        recall.make_report(runs, tmp_path / name, figures=False)
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*.*"))
    assert files
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_the_command_shows_tables_and_takes_a_window(tmp_path, capsys):
    write_fleet(tmp_path / "a", "recall", "push,hammer")
    write_fleet(tmp_path / "single", sequence=["push", "hammer"], success=lambda *_: 0.5)
    folders = [str(tmp_path / "a"), "--reference", str(tmp_path / "single")]
    out = ["--no-figures", "--out", str(tmp_path / "out")]
    main(["report", *folders, *out, "--window", "2"])
    shown = capsys.readouterr().out
    # Evaluations of 0.75 and 1 end each task's stage; the first task has 1 at the end.
    assert "0.94" in shown
    assert "0.25" in shown
    assert "2 runs" in shown
    main(["report", *folders, *out, "--success", "last", "--mode", "deterministic"])
    assert "0.50" in capsys.readouterr().out


def test_nothing_to_report_says_why(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadValueError, match=r"no runs to report.*missing does not exist"):
        recall.make_report([tmp_path / "empty", tmp_path / "missing"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "measure", [Measure(window=0), Measure(mode="greedy"), Measure(field="return")]
)
def test_measures_that_mean_nothing_are_refused(runs, tmp_path, measure):
    with pytest.raises(RecallError):
        recall.make_report(runs, tmp_path / "out", measure=measure)
