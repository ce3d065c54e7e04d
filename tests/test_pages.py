"""The tables in pages are those that reports of the records show."""

import pytest

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
