"""The tables in pages are those that reports of the records show."""

import pytest

from recall.analysis.collection import gather
from recall.analysis.estimates import estimate
from recall.analysis.frames import analyse
from recall.analysis.metrics import TRANSFER
from recall.report.tables.pivot import estimate_text
from tests.pages import PAGES, ROOT, with_tables


@pytest.mark.parametrize("name", PAGES)
def test_tables_in_pages_are_as_the_records_have_them(name):
    page = (ROOT / name).read_text("utf-8")
    assert with_tables(page) == page, "run `make pages`"


def test_a_table_that_was_edited_is_written_again():
    page = "a\n<!-- table: results/cw10 cw10 -->\n\n| RECALL | 0.99 |\n\n<!-- end of table -->\nb\n"
    written = with_tables(page)
    assert "| RECALL | **0.86** [0.80, 0.91] |" in written
    assert "0.99" not in written
    assert written.startswith("a\n<!-- table")
    assert with_tables(written) == written


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("cw3-n-step", "0.60 [-inf, 0.67]"),
        ("cw10-n-step", "0.45 [-0.17, 0.55]"),
    ],
)
def test_forward_transfer_of_todays_learner_compares_with_the_shipped_runs(name, told):
    analysis = analyse(gather(ROOT / "results" / name))
    assert all(found.shipped and found.runs for found in analysis.references.values())
    found = estimate(analysis.scores, TRANSFER)
    assert found
    assert estimate_text(found.estimate) == told
    page = (ROOT / "docs" / "results.md").read_text("utf-8").lower()
    assert any(f"forward transfer {be}{told.partition(' [-inf')[0]}" in page for be in ("", "is "))
