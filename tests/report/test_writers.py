"""One table in every format and on terminals; the LaTeX of all goes through a real LaTeX."""

import csv
import io
import shutil
import subprocess

import numpy as np
import pytest
from rich.console import Console

from recall.analysis.bootstrap import Estimate
from recall.analysis.collection import gather
from recall.analysis.frames import analyse
from recall.files.names import stem
from recall.report.build import show_tables
from recall.report.tables import all_tables
from recall.report.tables.table import Cell, Row, Table, estimate_text
from recall.report.tables.writers import (
    LEFT_OUT,
    comma_separated,
    latex,
    markdown,
    print_table,
    write_tables,
)
from tests.factories.folders import write_fleet

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
    first, _, second, third, *_ = csv.DictReader(io.StringIO(comma_separated(TABLE)))
    assert [first[name] for name in ("λ", "column", "value", "low", "high", "best", "runs")] == [
        "0.1", "performance", "0.904", "0.88", "0.92", "1", "3"
    ]  # fmt: skip
    assert second["text"] == "a | b"
    assert [third[name] for name in ("value", "paper", "paper_low", "paper_high")] == [
        "", "-0.001", "-0.1", "0.2"
    ]  # fmt: skip


def test_files_have_names_that_any_system_takes(tmp_path):
    write_tables([TABLE], tmp_path / "tables")
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {
        "a-b.csv",
        "a-b.md",
        "a-b.tex",
    }
    long = ",".join(["handle-press-side"] * 20)
    assert len(stem(long)) <= 80
    assert stem(long) != stem(f"{long},push")


def test_rows_of_values_are_followed_by_rows_of_intervals_and_notes_stand_apart():
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
    write_fleet(tmp_path / "d", "clonex", "push,hammer", finished=False, until=500)
    tables = [ODD, *all_tables(analyse(gather(tmp_path)))]
    assert len(tables) > 10
    write_tables(tables, tmp_path / "tables")
    inputs = [rf"\input{{tables/{path.name}}}" for path in (tmp_path / "tables").glob("*.tex")]
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


@pytest.mark.parametrize(
    ("width", "cell"),
    [(80, "0.90 [0.88, 0.92] \N{BOX DRAWINGS LIGHT VERTICAL}"), (55, " [0.88, 0.92] ")],
)
def test_intervals_stand_beside_numbers_or_below_them_as_the_width_allows(width, cell):
    text = printed(TABLE, width=width)
    assert cell in text
    assert ("0.90 [" in text) == (width == 80)
    for shown in ("100 % of a_b [x]", "a | b", "A note.", "[-0.10, 0.20]", "\N{EN DASH}"):
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
