"""One table in every format and on terminals; the LaTeX of all goes through a real LaTeX."""

import csv
import io
import shutil
import subprocess

import numpy as np
import pytest
from rich.console import Console

from recall.analysis.estimates import Estimate
from recall.report.build import show_tables
from recall.report.tables.pivot import Cell, Row, Table, estimate_text
from recall.report.tables.writers import (
    LEFT_OUT,
    comma_separated,
    latex,
    markdown,
    print_table,
    write_tables,
)
from tests.factories.folders import write_fleet
from tests.factories.tables import tables_of

OURS, PAPERS = Estimate(0.904, (0.88, 0.92)), Estimate(-0.001, (-0.1, 0.2))
TABLE = Table(
    name="a,b",
    title="Results on 100 % of a_b [x]",
    corner="λ",
    columns=("performance", "forgetting", "words"),
    rows=(
        Row("0.1", (Cell(OURS, bold=True, runs=3), Cell(OURS), Cell(text="a | b"))),
        Row("R & D", (Cell(PAPERS), Cell(Estimate(np.nan)), Cell()), papers=True),
    ),
    notes=("A note.",),
)
ODD = Table(
    name="odd",
    title='100 % of {a_b} & #1, λ → 2 \N{MULTIPLICATION SIGN} ~3^4 <é> \\ | "q"',
    corner="[x]",
    columns=("first_column", "second"),
    rows=(
        Row("[bracket]", (Cell(Estimate(0.9, (0.8, 1.0)), bold=True), Cell(text="a & b"))),
        Row("one missing", (Cell(Estimate(0.9, (0.8, 1.0))), Cell())),
        Row("it (paper)", (Cell(Estimate(0.7, (0.6, 0.8))), Cell(Estimate(-0.5))), papers=True),
    ),
    notes=("A note with 5 % and a_b.",),
    advice=("`recall train --x`",),
)


def test_estimates_are_written_as_in_the_paper():
    assert estimate_text(Estimate(0.9, (0.875, 1.0))) == "0.90 [0.88, 1.00]"
    assert estimate_text(Estimate(-0.001, (-0.02, 0.0))) == "0.00 [-0.02, 0.00]"
    assert estimate_text(Estimate(31.0), decimals=0) == "31"
    assert estimate_text(None) == "\N{EN DASH}"


def test_a_table_is_written_as_markdown():
    assert markdown(TABLE).splitlines() == [
        "### Results on 100 % of a_b [x]",
        "",
        "| λ | performance | forgetting | words |",
        "| --- | ---: | ---: | ---: |",
        "| 0.1 | **0.90** [0.88, 0.92] | 0.90 [0.88, 0.92] | a \\| b |",
        "| R & D | 0.00 [-0.10, 0.20] | \N{EN DASH} | \N{EN DASH} |",
        "",
        "A note.",
    ]


def test_commas_keep_every_digit():
    first, _, second, third, *_ = csv.reader(io.StringIO(comma_separated(TABLE).split("\n", 1)[1]))
    assert first[:7] == ["0.1", "performance", "0.904", "0.88", "0.92", "1", "3"]
    assert second[-1] == "a | b"
    assert third[2:10] == ["", "", "", "0", "0", "-0.001", "-0.1", "0.2"]


def test_latex_has_rows_of_values_rows_of_intervals_and_notes():
    text = latex(ODD)
    assert r"{}[bracket] & $\mathbf{0.90}$ & a \& b \\" in text
    assert r"one missing & $0.90$ & -- \\" in text
    assert r"it (paper) & $0.70$ & $-0.50$ \\" in text
    assert r" & \scriptsize $[0.60, 0.80]$ &  \\" in text
    assert "A note with 5 \\% and a\\_b." in text
    assert "recall train" not in text


def test_a_table_that_is_wider_than_a_page_is_turned():
    names = tuple(f"task {number}" for number in range(10))
    cells = tuple(Cell(Estimate(0.1 * number)) for number in range(10))
    text = latex(Table("wide", "Wide", "method", names, (Row("RECALL", cells),)))
    assert r"method & RECALL \\" in text
    assert r"task 3 & $0.30$ \\" in text


@pytest.mark.skipif(
    shutil.which("pdflatex") is None,
    reason="no LaTeX is installed: `apt-get install texlive-latex-recommended`",
)
def test_every_table_compiles(tmp_path):
    write_fleet(tmp_path / "a", "recall", ["cw3-1", "cw3-2"])
    write_fleet(tmp_path / "b", "recall", ["cw3-1", "cw3-2"], distillation_weight=0.1)
    write_fleet(tmp_path / "c", "ewc", "cw10", seeds=(0,))
    write_tables([ODD, *tables_of(tmp_path).values()], tmp_path / "tables")
    inputs = [rf"\input{{tables/{path.name}}}" for path in (tmp_path / "tables").glob("*.tex")]
    assert len(inputs) > 10
    document = [
        r"\documentclass{article}", r"\usepackage{booktabs}", r"\begin{document}",
        *(f"{each}\n\\clearpage" for each in inputs), r"\end{document}",
    ]  # fmt: skip
    (tmp_path / "all.tex").write_text("\n".join(document), "utf-8")
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "all.pdf").read_bytes()[:4] == b"%PDF"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def printed(*tables: Table, width: int) -> str:
    console = Console(file=Terminal(), width=width, force_terminal=True, color_system=None)
    show_tables(list(tables), console)
    return console.file.getvalue()


@pytest.mark.parametrize(("width", "beside", "whole"), [(80, True, True), (55, False, True),
                                                        (45, False, False)])  # fmt: skip
def test_intervals_stand_beside_numbers_or_below_or_are_left_out(width, beside, whole):
    text = printed(TABLE, TABLE, width=width)
    assert ("0.90 [0.88, 0.92] " in text) == beside
    assert (" [0.88, 0.92] " in text) == whole
    assert ("too narrow for intervals" in " ".join(text.split())) != whole
    assert max(map(len, text.splitlines())) <= width
    for shown in ("100 % of a_b [x]", "a | b", "0.90", "\N{EN DASH}"):
        assert shown in text
    assert text.count("A note.") == 1  # a note is told once


def test_a_table_without_intervals_says_nothing_of_them():
    whole = Table("b", "b", "b", ("x" * 60,), (Row("1", (Cell(Estimate(1.0)),)),))
    assert LEFT_OUT not in printed(whole, width=45)


def test_elsewhere_a_table_is_a_header_and_tab_separated_lines():
    console = Console(file=io.StringIO(), width=20)
    print_table(TABLE, console)
    title, header, first, *_, note = console.file.getvalue().splitlines()
    assert (title, note) == (f"# {TABLE.title}", "# A note.")
    assert header.split("\t") == ["λ", "performance", "forgetting", "words"]
    assert first.split("\t") == ["0.1", "0.90 [0.88, 0.92]", "0.90 [0.88, 0.92]", "a | b"]
