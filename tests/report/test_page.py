"""The page in a real browser: layout, sorting, values under the pointer, and no network."""

import dataclasses
from pathlib import Path

import pytest

from recall.analysis.bootstrap import Estimate
from recall.analysis.collection import Collection
from recall.analysis.scores import ScoreBoard
from recall.report.figures import Gallery
from recall.report.page import page, write_page
from recall.report.tables import all_tables
from recall.report.tables.table import Cell, Row, Table
from tests.factories.runs import made_collection

SIZES = {"phone": (360, 740), "desktop": (1280, 900)}
# By value 10.5, 9.25, 0.5, -3; as texts the order would be another.
VALUES = {"nine": 9.25, "none": None, "ten": 10.5, "minus three": -3.0, "half": 0.5}
PROBLEM = "runs/<b>odd</b> & co is unfinished: left out."


def made_table() -> Table:
    rows = [
        Row(name, (Cell(value if value is None else Estimate(value, (value, 20)), Estimate(1.0)),))
        for name, value in VALUES.items()
    ]
    mean = Row("mean", (Cell(Estimate(99.0), bold=True),))
    wide = tuple(f"a rather long heading {number}" for number in range(12))
    rows = [Row(row.heading, row.cells * 12) for row in [*rows, mean]]
    lower = (False, True, *[False] * 10)
    return Table("made", "Made by hand", "method", wide, tuple(rows), ("A note.",), lower=lower)


@pytest.fixture(scope="module")
def board() -> ScoreBoard:
    made = made_collection(["fine_tuning", "recall"], ["cw3-1", "cw3-2"], seeds=2)
    return ScoreBoard(Collection(made.runs, (PROBLEM,), made.reference_runs))


def opened(browser, path: Path, size="desktop", scheme="light"):
    """The page, and what went wrong in it."""
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, offline=True
    )
    tab = context.new_page()
    told: list[str] = []
    tab.on("console", lambda message: told.append(message.text))
    tab.on("pageerror", lambda error: told.append(str(error)))
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(path.as_uri())
    try:
        yield tab
        assert told == [], "the console is silent"
        assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()]
    finally:
        context.close()


def shown(tab) -> list[str]:
    return tab.eval_on_selector_all(
        "table.sorts:first-of-type >> nth=0 >> tbody th", "cells => cells.map(c => c.textContent)"
    )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_screen(browser, report, size, scheme):
    with opened(browser, report, size, scheme) as tab:
        for details in tab.query_selector_all("details"):
            details.evaluate("each => each.open = true")
        tab.wait_for_function("[...document.images].every(i => i.loading == 'lazy' || i.complete)")
        assert tab.evaluate("document.documentElement.scrollWidth") == SIZES[size][0]
        paper, ink = tab.evaluate(
            "['backgroundColor', 'color'].map(name => getComputedStyle(document.body)[name])"
        )
        light = [sum(map(int, colour[4:-1].split(","))) for colour in (paper, ink)]
        assert (light[0] < light[1]) == (scheme == "dark")
        assert abs(light[0] - light[1]) > 3 * 150, "there is contrast"
        broken = tab.evaluate(
            "[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.alt)"
        )
        assert broken == []


@pytest.mark.parametrize(("width", "word"), [(390, "RECALL"), (1100, "RECALL"), (390, "R" * 90)])
def test_long_labels_wrap_and_keep_their_dots(browser, tmp_path, width, word):
    """In summaries and in tables, where the values stay in sight beside them."""
    settings = ", ".join(["update after 50, random steps 100, learning rate 0.0005"] * 3)
    made = made_collection(["recall", "ewc"], ["cw3-1"], 2, singles=False, variant=settings)
    runs = [dataclasses.replace(run, label=run.label.replace("RECALL", word)) for run in made.runs]
    board = ScoreBoard(Collection(tuple(runs)))
    path = write_page(tmp_path, board, all_tables(board), Gallery(()))
    with opened(browser, path) as tab:
        tab.set_viewport_size({"width": width, "height": 900})
        assert tab.evaluate("document.documentElement.scrollWidth") == width
        boxes = {
            part: tab.eval_on_selector_all(
                part, "all => all.map(each => each.getBoundingClientRect().toJSON())"
            )
            for part in (".card .named", "tbody .named", ".first")
        }
        assert all(box["height"] > 40 for box in boxes[".card .named"]), "on several lines"
        assert all(box["width"] <= 0.45 * width + 1 for box in boxes["tbody .named"])
        if word == "RECALL":
            assert all(box["height"] < 30 for box in boxes[".first"]), "on one line with the dot"
        assert all(boxes.values())


def test_bold_marks_the_best_values_in_the_row_of_means_too(browser, tmp_path, board):
    cells = (Cell(Estimate(1.0), bold=True), Cell(Estimate(0.5)))
    table = Table("made", "Made by hand", "method", ("a", "b"), (Row("mean", cells),))
    path = write_page(tmp_path, board, [table], Gallery(()))
    with opened(browser, path) as tab:
        best, other = (
            tab.locator(f".pinned td {tag}").evaluate("each => getComputedStyle(each).fontWeight")
            for tag in ("b", "span")
        )
        assert (best, other) == ("700", "400")
        rule = tab.locator(".pinned td").first.evaluate("each => getComputedStyle(each).borderTop")
        assert rule.startswith("2px solid")


def test_tables_sort_by_value_and_undo_it(browser, report):
    with opened(browser, report) as tab:
        assert shown(tab) == [*VALUES, "mean"]
        second = tab.locator("table.sorts").first.locator("thead th").nth(1)
        button = second.locator("button")
        button.click()
        assert second.get_attribute("aria-sort") == "descending"
        assert shown(tab) == ["ten", "nine", "half", "minus three", "none", "mean"]
        button.click()
        assert second.get_attribute("aria-sort") == "ascending"
        assert shown(tab) == ["minus three", "half", "nine", "ten", "none", "mean"]
        button.click()
        assert second.get_attribute("aria-sort") == "none"
        assert shown(tab) == [*VALUES, "mean"]


def test_the_first_click_sorts_best_first_where_less_is_better(browser, report):
    with opened(browser, report) as tab:
        third = tab.locator("table.sorts").first.locator("thead th").nth(2)
        third.locator("button").click()
        assert third.get_attribute("aria-sort") == "ascending"
        assert shown(tab) == ["minus three", "half", "nine", "ten", "none", "mean"]


def test_wide_tables_on_a_phone_say_that_they_scroll(browser, report):
    with opened(browser, report, "phone") as tab:
        first = tab.locator(".wide").first
        assert "scrolls" in first.get_attribute("class")
        assert tab.locator(".more").first.is_visible()
    with opened(browser, report) as tab:
        narrow = tab.locator(".wide:has(table[style='--columns:3'])").first
        assert "scrolls" not in (narrow.get_attribute("class") or "")


def test_nothing_is_cut_on_paper(browser, report, tmp_path):
    """On A4 across, 1,031 pixels wide inside the margins, every table ends on the paper."""
    with opened(browser, report) as tab:
        tab.emulate_media(media="print")
        tab.set_viewport_size({"width": 1031, "height": 700})
        wide = tab.evaluate(
            "[...document.querySelectorAll('table')].filter(t => t.offsetParent)"
            ".map(t => t.getBoundingClientRect().right)"
        )
        assert max(wide) <= 1031
        assert tab.locator("nav").is_hidden()
        tab.pdf(path=tmp_path / "page.pdf", prefer_css_page_size=True)
    assert (tmp_path / "page.pdf").read_bytes()[:4] == b"%PDF"


def test_tables_sort_by_keyboard(browser, report):
    with opened(browser, report) as tab:
        first, second = (
            tab.locator("table.sorts").first.locator("thead th").nth(k) for k in (0, 1)
        )
        first.locator("button").focus()
        tab.keyboard.press("Enter")
        assert shown(tab) == [*sorted(VALUES), "mean"]
        tab.keyboard.press("Tab")
        tab.keyboard.press("Space")
        assert shown(tab)[0] == "ten"
        assert first.get_attribute("aria-sort") == "none"
        assert second.get_attribute("aria-sort") == "descending"


def test_figures_zoom_by_button_and_by_key(browser, report):
    with opened(browser, report, "phone") as tab:
        figure = tab.locator("figure").first
        inner = figure.locator(".inner")
        before = inner.bounding_box()["width"]
        figure.get_by_label("larger").click()
        assert inner.bounding_box()["width"] == pytest.approx(1.5 * before, rel=0.01)
        figure.locator(".frame").focus()
        tab.keyboard.press("-")
        assert inner.bounding_box()["width"] == pytest.approx(before, rel=0.01)
        assert tab.evaluate("document.documentElement.scrollWidth") == SIZES["phone"][0]


def test_everything_is_told_and_nothing_is_markup(report):
    written = report.read_text("utf-8")
    assert "runs/&lt;b&gt;odd&lt;/b&gt; &amp; co is unfinished" in written
    assert "<b>q scale</b>: no records" in written
    assert written.count("<img ") == written.count(" alt='")
    assert "http://" not in written.replace("http://www.w3.org", "")
    assert "https://" not in written


def test_a_page_without_figures_and_films_has_no_such_sections(board):
    written = page(board, [made_table()], Gallery(()), [], [])
    assert 'id="tables"' in written
    assert 'id="figures"' not in written
    assert 'id="films"' not in written
