"""A whole report: from folders to files, with the bad folders left out and told."""

import html
import json
import subprocess
import sys
from functools import partial

import pytest

import recall
from recall.analysis.collection import gather
from recall.analysis.frames import analyse
from recall.analysis.metrics import Measure
from recall.cli import main
from recall.errors import BadValueError, UnknownNameError
from recall.report.build import problems_of, write_report
from recall.report.compare import compare
from recall.report.figures import register_figure
from tests.factories.folders import STEPS, append_training, learns_each_task, write_fleet
from tests.plugins.restored import plugins_forgotten


@pytest.fixture
def runs(tmp_path):
    write_fleet(tmp_path / "runs" / "a", "recall", "cw3-1")
    write_fleet(tmp_path / "runs" / "b", "ewc", "cw3-1", finished=False, until=STEPS)
    return tmp_path / "runs"


def test_a_report_has_tables_and_tells_what_was_left_out(runs, tmp_path):
    made = recall.make_report(runs, tmp_path / "out", figures=False)
    page = (tmp_path / "out" / "index.html").read_text()
    assert "CW3: average performance" in page
    assert "b is unfinished" in page
    names = {path.name for path in (tmp_path / "out" / "tables").iterdir()}
    assert {"cw3-forgetting.md", "cw3-forgetting.csv", "cw3-1-tasks.tex"} <= names
    assert len(made.collection.runs) == 4
    assert len(made.collection.problems) == 1


def test_without_a_console_what_is_printed_meanwhile_is_seen(runs, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal

    def told(scene):
        print("drawing")
        yield from ()

    with plugins_forgotten():
        register_figure("told", told)
        analysis = analyse(gather(runs))
        write_report(analysis, [], tmp_path / "out", "told", kinds=["told"])
    assert capsys.readouterr().out == "drawing\n"


def test_a_report_made_twice_says_the_same(runs, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    for name in ("one", "two"):
        recall.make_report(runs, tmp_path / name, figures=False)
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*.*"))
    assert files
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


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
    main(["report", str(tmp_path / "runs"), "--out", str(out)])
    assert "[-inf, 0.50]" in (out / "tables" / "push-hammer.md").read_text()
    assert "-inf" in (out / "tables" / "push-hammer.csv").read_text()
    assert "Infinity" not in (out / "index.html").read_text()  # no JSON
    assert (out / "figures" / "seeds-push-hammer.png").exists()


def test_a_reader_that_leaves_early_gets_all_files(tmp_path):
    runs = write_fleet(tmp_path / "runs" / "a", "recall", "push,hammer")
    words = [sys.executable, "-m", "recall", "report", str(runs), "--no-figures", "--out"]
    out = tmp_path / "out"
    with subprocess.Popen([*words, str(out)], stdout=subprocess.PIPE) as command:
        command.stdout.close()  # like `| head -0`
    assert {"index.html", "tables/push-hammer.csv"} <= files_below(out)


def files_below(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_second_report_leaves_nothing_of_the_first_and_all_of_others(runs, tmp_path):
    out = tmp_path / "out"
    recall.make_report(runs, out, figures=False)
    (out / "tables" / "mine.md").write_text("kept")
    (out / "notes.txt").write_text("kept")
    other = write_fleet(tmp_path / "other", "recall", "push,hammer")
    recall.make_report(other, out, figures=False)
    assert "tables/cw3-forgetting.md" not in files_below(out)
    assert {"tables/mine.md", "notes.txt", "tables/push-hammer.md"} <= files_below(out)
    listed = set(json.loads((out / "files.json").read_text()))
    assert files_below(out) == listed | {"tables/mine.md", "notes.txt", "files.json"}


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


def test_a_report_that_was_broken_off_is_made_again(runs, tmp_path):
    out = tmp_path / "out"
    (out / "tables").mkdir(parents=True)
    (out / "tables" / "old.md").write_text("a table")
    recall.make_report(runs, out, figures=False)
    assert (out / "index.html").exists()


def test_training_records_that_cannot_be_used_are_told(tmp_path):
    folder = write_fleet(tmp_path / "a", "recall", "push,hammer")
    path = folder / "training.jsonl"
    odd = b'{"run": 0, "step": 9, "loss_q": {"a": 1}, "q_value": [[1], "x"]}'
    path.write_bytes(b"\x00\xffgarbage\n" + odd + b"\n" + path.read_bytes())
    analysis = analyse(gather(folder))
    assert problems_of(analysis) == ()  # not read yet
    columns = analysis.collection.runs[0].training
    assert columns["loss_q"][0] == 250.0
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


def test_a_run_without_a_number_where_one_is_needed_is_told_and_left_out(tmp_path):
    def lost(seed, position, step):
        late = step > 2 * STEPS - 250 * 5
        return None if seed and late else learns_each_task(seed, position, step)

    made = recall.make_report(
        write_fleet(tmp_path / "a", "recall", "push,hammer", success=lost),
        tmp_path / "out",
        figures=False,
    )
    assert set(made.analysis.scores.seed) == {0}
    assert any("left out of the tables" in problem for problem in made.problems)


def test_nothing_to_report_says_why(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadValueError, match=r"no runs to report.*empty.*missing"):
        recall.make_report([tmp_path / "empty", tmp_path / "missing"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_return_is_no_measure_of_success(runs, tmp_path):
    for make in (recall.make_report, partial(compare, runs)):
        with pytest.raises(UnknownNameError, match="unknown measure of success 'return'"):
            make(runs, tmp_path / "out", measure=Measure(field="return"))
