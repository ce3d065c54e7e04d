"""One table in every format."""

import csv
import io

from recall.analysis.bootstrap import Estimate
from recall.files.names import stem
from recall.report.tables.table import Cell, Row, Table, estimate_text
from recall.report.tables.writers import (
    comma_separated,
    markdown,
    write_tables,
)

TABLE = Table(
    name="a,b",
    title="Results on 100 % of a_b [x]",
    corner="λ",
    columns=("performance", "words"),
    rows=(
        Row(
            "0.1",
            (
                Cell(Estimate(0.904, (0.88, 0.92)), bold=True, runs=3),
                Cell(text="a | b"),
            ),
        ),
        Row(
            "R & D",
            (Cell(Estimate(-0.001, (-0.1, 0.2))), Cell(Estimate(float("nan")))),
            papers=True,
        ),
    ),
    notes=("A note.",),
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
        "| λ | performance | words |",
        "| --- | ---: | ---: |",
        "| 0.1 | **0.90** [0.88, 0.92] | a \\| b |",
        "| R & D | 0.00 [-0.10, 0.20] | \N{EN DASH} |",
        "",
        "A note.",
    ]


def test_commas_keep_every_digit():
    first, second, third, _ = csv.DictReader(io.StringIO(comma_separated(TABLE)))
    assert [first[name] for name in ("λ", "column", "value", "low", "high", "best", "runs")] == [
        "0.1", "performance", "0.904", "0.88", "0.92", "1", "3"
    ]  # fmt: skip
    assert second["text"] == "a | b"
    assert [third[name] for name in ("value", "paper", "paper_low", "paper_high")] == [
        "", "-0.001", "-0.1", "0.2"
    ]  # fmt: skip


def test_files_have_names_that_any_system_takes(tmp_path):
    write_tables([TABLE], tmp_path / "tables")
    assert sorted(path.name for path in (tmp_path / "tables").iterdir()) == [
        "a-b.csv", "a-b.md", "a-b.tex"
    ]  # fmt: skip
    long = ",".join(["handle-press-side"] * 20)
    assert len(stem(long)) <= 80
    assert stem(long) != stem(f"{long},push")
