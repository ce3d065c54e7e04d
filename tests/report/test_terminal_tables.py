"""Tables on the terminal: everything on a wide one, the numbers alone on a narrow one."""

import io

import pytest
from rich.console import Console

from recall.analysis.bootstrap import Estimate
from recall.report.build import show_tables
from recall.report.tables.table import Cell, Row, Table
from recall.report.tables.terminal import LEFT_OUT, print_table

OURS, PAPERS = Estimate(0.904, (0.88, 0.92)), Estimate(0.9, (0.85, 0.95))
TABLE = Table(
    name="a",
    title="Results on 100 % of a_b [x]",
    corner="λ",
    columns=("performance", "forgetting", "words"),
    rows=(
        Row("0.1", (Cell(OURS), Cell(OURS, bold=True), Cell(text="a | b"))),
        Row("0.1 (paper)", (Cell(PAPERS), Cell(), Cell()), papers=True),
    ),
    notes=("A note.",),
)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def printed(*tables: Table, width: int) -> str:
    console = Console(file=Terminal(), width=width, force_terminal=True, color_system=None)
    show_tables(list(tables), console)
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("width", "cell"),
    [(80, "0.90 [0.88, 0.92] \N{BOX DRAWINGS LIGHT VERTICAL}"), (55, " [0.88, 0.92] ")],
)
def test_intervals_stand_beside_numbers_or_below_them_as_the_width_allows(width, cell):
    text = printed(TABLE, width=width)
    assert cell in text
    assert ("0.90 [" in text) == (width == 80)
    for shown in ("100 % of a_b [x]", "a | b", "A note.", "[0.85, 0.95]", "\N{EN DASH}"):
        assert shown in text
    assert LEFT_OUT not in text
    assert printed(TABLE, TABLE, width=width).count("A note.") == 1  # a note is told once


def test_a_narrow_terminal_shows_the_numbers_alone_and_says_so():
    text = printed(TABLE, width=45)
    assert "[0.88" not in text
    assert "0.90" in text
    assert "too narrow for intervals" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 45
    whole = Table("b", "b", "b", ("x" * 60,), (Row("1", (Cell(Estimate(1.0)),)),))
    assert LEFT_OUT not in printed(whole, width=45)  # it has no intervals


def test_elsewhere_a_table_is_a_header_and_tab_separated_lines():
    console = Console(file=io.StringIO(), width=20)
    print_table(TABLE, console)
    lines = console.file.getvalue().splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("# ")]
    assert rows[0] == ["λ", "performance", "forgetting", "words"]
    assert rows[1] == ["0.1", "0.90 [0.88, 0.92]", "0.90 [0.88, 0.92]", "a | b"]
    assert {len(row) for row in rows} == {4}
    assert lines[0] == f"# {TABLE.title}"
    assert "# A note." in lines
