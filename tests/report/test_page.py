"""The page: what it says, that nothing in it is markup, and how it looks in a real browser."""

import dataclasses
import re
import shutil
from pathlib import Path

import pytest
from markupsafe import escape

from recall.analysis.collection import Collection
from recall.analysis.estimates import Estimate
from recall.analysis.frames import Analysis, analyse
from recall.report.figures import Gallery, Skipped, draw_all
from recall.report.page import page
from recall.report.tables.pivot import MISSING, Cell, Row, Table
from tests.factories.runs import made_collection

HOSTILE = "<!--<script>&\"'"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)


def made_table() -> Table:
    wide = tuple(f"a rather long heading {number}" for number in range(12))
    cells = (Cell(Estimate(0.25, (0.125, 0.5)), bold=True), Cell(Estimate(0.75)), Cell())
    rows = [Row(name, cells * 4) for name in ("RECALL", HOSTILE, "mean")]
    rows.append(Row("RECALL (paper)", cells * 4, papers=True))
    return Table("made", f"Made by {HOSTILE}", "method", wide, tuple(rows), ("A note.",))


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    made = made_collection(["fine_tuning", "recall"], ["cw3-1", "cw3-2"], seeds=2)
    labels = {"fine_tuning": f"Fine-tuning {HOSTILE}", "recall": "RECALL " + "long " * 10}
    runs = [dataclasses.replace(run, label=labels[run.method]) for run in made.runs]
    return analyse(Collection(tuple(runs), (), made.reference_runs))


@pytest.fixture(scope="module")
def gallery(analysis, tmp_path_factory) -> Gallery:
    folder = tmp_path_factory.mktemp("figures")
    kinds = ["average_success", "seeds"]
    drawn = draw_all(analysis.collection, folder, kinds=kinds, formats=("svg",)).drawn
    hostile = dataclasses.replace(drawn[1], title=HOSTILE, caption=HOSTILE)
    return Gallery((drawn[0], hostile), (Skipped("q_scale", f"no records of {HOSTILE}"),))


@pytest.fixture(scope="module")
def report(analysis, gallery, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    tables = [made_table()]
    path = folder / "index.html"
    path.write_text(page(analysis, tables, gallery, [f"{HOSTILE} is unfinished."], HOSTILE))
    return path


@pytest.mark.skipif(not CHROMIUM, reason="no Chromium: `apt-get install chromium`")
@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (1280, "dark")])
def test_in_a_browser_the_page_is_whole_quiet_and_no_wider_than_the_screen(report, width, scheme):
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        flags = ["--no-sandbox", "--disable-gpu"]
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=flags)
        screen = {"width": width, "height": 800}
        tab = browser.new_page(viewport=screen, color_scheme=scheme, offline=True)
        told, asked = [], []
        tab.on("console", lambda message: told.append(message.text))
        tab.on("pageerror", lambda error: told.append(str(error)))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(report.as_uri())
        for details in tab.query_selector_all("details"):
            details.evaluate("each => each.open = true")
        assert tab.evaluate("document.documentElement.scrollWidth") == width
        order = tab.eval_on_selector_all("section", "all => all.map(each => each.id)")
        assert order == ["summary", "tables", "figures", "notes", "runs"]
        assert tab.locator("#summary figure img").is_visible()
        assert tab.locator("h1").inner_text() == f"Report of {HOSTILE}"
        paper, ink = tab.evaluate(
            "['backgroundColor', 'color'].map(name => getComputedStyle(document.body)[name])"
        )
        light = [sum(map(int, colour[4:-1].split(","))) for colour in (paper, ink)]
        assert (light[0] < light[1]) == (scheme == "dark")
        assert abs(light[0] - light[1]) > 3 * 150, "there is contrast"
        assert told == []
        assert [url for url in asked if not url.startswith("data:")] == [report.as_uri()]


def test_texts_are_no_markup_and_nothing_runs(report):
    written = report.read_text("utf-8")
    assert "<script" not in written
    assert written.count("<!--") == 0
    assert written.count(str(escape(HOSTILE))) > 8
    assert "://" not in re.sub(r"http://www\.w3\.org/[\w/]+", "", written)


def test_tables_show_values_intervals_and_the_papers_numbers(report):
    (body,) = re.findall(r"<tbody>.*?</tbody>", report.read_text("utf-8"), re.DOTALL)[:1]
    first = re.search(r"<tr>.*?</tr>", body, re.DOTALL)[0]
    cells = [" ".join(each.split()) for each in re.findall(r"<td.*?</td>", first, re.DOTALL)][:3]
    assert cells[0] == "<td><b>0.25</b><small>[0.12, 0.50]</small></td>"
    assert '<td class="paper">' in body
    assert MISSING in cells[2]
    assert 'class="mean"' in body


def test_fleets_show_their_states_and_settings(analysis):
    first, second, *_ = analysis.collection.runs
    failed = dataclasses.replace(first, failed_at=12_345, settings={"a": 1, "b": [8, 8]})
    other = dataclasses.replace(
        second, folder=Path("/other"), finished=False, settings={"a": 1, "b": 2_000}
    )
    written = page(analyse(Collection((failed, other))), [], Gallery(()))
    assert "failed at 12,345" in written
    assert "unfinished" in written
    assert written.count("<dt>a</dt>") == 1, "listed once, as all share it"
    assert "<dt>b</dt><dd>8 8</dd>" in written
    assert "<dt>b</dt><dd>2,000</dd>" in written
    assert not re.search('id="(tables|figures|notes)"', written), "they would be empty"
