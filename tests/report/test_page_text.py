"""What a page says, whatever shows it: origin, warnings and films."""

import dataclasses

import pytest
from rich.console import Console

from recall.analysis.scores import ScoreBoard
from recall.report.build import write_report
from recall.report.figures import Gallery
from recall.report.page import page
from recall.report.page.films import Film, films_of
from recall.report.page.origin import origin_html
from tests.factories.runs import made_collection


@pytest.fixture(scope="module")
def board() -> ScoreBoard:
    return ScoreBoard(made_collection(["fine_tuning", "recall"], ["cw3-1"], seeds=2))


def test_the_top_says_what_when_and_from_where(board, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    about = {
        "versions": {"recall": "0.0.9"},
        "git": {"commit": "0123456789abcdef", "dirty": True},
        "machine": {"processor": "Abacus 3"},
    }
    runs = [dataclasses.replace(run, description=about) for run in board.collection.runs]
    assert "trained with recall 0.0.9 (commit 01234567 with changes) on Abacus 3." in origin_html(
        runs
    )
    written = page(board, [], Gallery(()), [], [], "runs/<b>")
    assert "<title>Report of runs/&lt;b&gt;</title>" in written
    assert "<h1>Report of runs/&lt;b&gt;</h1>" in written
    assert "Made on 9 September 2001 at 01:46 UTC with recall " in written


@pytest.mark.parametrize(
    ("seeds", "words"), [(1, "A single run"), (3, "There are only 3 runs"), (5, None)]
)
def test_few_seeds_are_warned_of(seeds, words):
    few = ScoreBoard(made_collection(["ewc"], ["cw3-1"], seeds=seeds, singles=False))
    written = page(few, [], Gallery(()), [], [])
    assert ("class='caution'" in written) == (words is not None)
    assert words is None or words in written


def test_few_seeds_are_warned_of_on_the_terminal_and_in_the_text_too(tmp_path, capsys):
    few = ScoreBoard(made_collection(["ewc"], ["cw3-1"], seeds=3, singles=False))
    write_report(few, [], tmp_path, "runs", kinds=(), console=Console())
    warning = "There are only 3 runs of a method and sequence"
    assert warning in capsys.readouterr().out
    assert warning in (tmp_path / "report.md").read_text()


def test_films_of_the_fleets_are_on_the_page_as_far_as_there_is_room(board, tmp_path):
    (tmp_path / "films").mkdir()
    for name, size in (("a.gif", 40), ("b.mp4", 100), ("c.png", 50), ("notes.txt", 1)):
        (tmp_path / "films" / name).write_bytes(b"x" * size)
    run = board.collection.runs[0]
    moved = dataclasses.replace(run, folder=tmp_path)
    films, left_out = films_of([moved, moved], most_bytes=100)
    assert [film.path.name for film in films] == ["a.gif", "c.png"]
    assert len(left_out) == 1
    assert "b.mp4 is not on the page" in left_out[0]
    written = page(board, [], Gallery(()), [Film(tmp_path / "films" / "b.mp4", "a film")], left_out)
    assert "<video controls" in written
    assert "src='data:video/mp4;base64,eHh4" in written
