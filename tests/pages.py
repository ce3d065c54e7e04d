"""Write the tables of pages from the records: `python -m tests.pages` (`make pages`).

In a page, `<!-- table: results/cw3 cw3 -->` stands above the table `cw3` of
`recall report results/cw3`, `<!-- table: reached -->` above one of `OWN`, and
`<!-- end of table -->` below it. What lies between is generated.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import pandas as pd

from recall.analysis.collection import gather
from recall.analysis.frames import Analysis, analyse, list_of, select
from recall.analysis.metrics import METRICS
from recall.report import paper
from recall.report.tables import all_tables
from recall.report.tables.table import Table, estimate_text, number_text
from recall.report.tables.writers import markdown_grid

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/results.md")
_TABLE = re.compile(r"(<!-- table: (\S+)(?: (\S+))? -->\n).*?(<!-- end of table -->)", re.DOTALL)
NAMES = {"RECALL": "RECALL, before", "PM": "Perfect memory"}


@cache
def _analysis(folder: str) -> Analysis:
    return analyse(gather(ROOT / folder, ROOT / "results/reference"))


@cache
def _tables(folder: str) -> dict[str, Table]:
    return {table.name: table for table in all_tables(_analysis(folder))}


def _grid(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(heads), *map(list, rows)]
    lines.insert(1, ["---", *["---:"] * (len(lines[0]) - 1)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _mean(values: "pd.Series[float]", decimals: int = 2) -> str:
    return "" if values.isna().any() else number_text(values.mean(), decimals)


def _groups(scores: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {label: select(scores, label=label) for label in list_of(scores, "label")}


def reached() -> str:
    """Return average performance on CW3 beside the paper's."""
    today = _analysis("results/cw3-n-step").scores
    groups = _groups(_analysis("results/cw3").scores)
    shown = [
        ("**RECALL**, today's learner", f"**{_mean(today.final)}**", "recall"),
        *(
            (NAMES.get(label, label), _mean(rows.final), method)
            for label, rows in sorted(groups.items(), key=lambda each: -each[1].final.mean())
            for method in list_of(rows, "method")
        ),
    ]
    rows = (
        (name, ours, estimate_text(paper.over_family("cw3", METRICS[0], method)))
        for name, ours, method in shown
    )
    return _grid(["method", "300,000 steps per task", "paper, 1,000,000 steps"], rows)


def by_sequence() -> str:
    """Return RECALL on CW3 at 1,000,000 steps, sequence by sequence."""
    rows = []
    scores = _analysis("results/cw3-1m").scores
    for sequence, part in scores.groupby("sequence"):
        theirs = paper.on_sequence(str(sequence), METRICS[0], "recall")
        rows.append(
            (
                f"{sequence}: {', '.join(part.task)}",
                _mean(part.final),
                _mean(part.forgotten),
                number_text(theirs.value) if theirs else "",
                ", ".join(number_text(value, 1) for value in part.final),
            )
        )
    mean = paper.over_family("cw3", METRICS[0], "recall")
    rows.append(
        ("mean", f"**{_mean(scores.final)}**", _mean(scores.forgotten), estimate_text(mean), "")
    )
    return _grid(["sequence", "RECALL", "forgetting", "paper", "each task at the end"], rows)


OWN: dict[str, Callable[[], str]] = {"reached": reached, "by-sequence": by_sequence}


def with_tables(page: str) -> str:
    """Return the text of a page with its tables as the records have them now."""

    def written(found: re.Match[str]) -> str:
        start, folder, name, end = found.groups()
        table = markdown_grid(_tables(folder)[name]) if name else OWN[folder]()
        return f"{start}\n{table}\n{end}"

    return _TABLE.sub(written, page)


def main() -> None:
    """Write every page again."""
    for name in PAGES:
        path = ROOT / name
        path.write_text(with_tables(path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
