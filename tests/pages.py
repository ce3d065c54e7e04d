"""Write the tables of pages from the records: `python -m tests.pages` (`make pages`).

In a page, `<!-- table: results/cw3 cw3 -->` stands above the table `cw3` of
`recall report results/cw3`, `<!-- table: reached -->` above that of `reached`, and
`<!-- end of table -->` below it. What lies between is generated.
"""

import re
from functools import cache
from pathlib import Path

from recall.analysis.collection import gather
from recall.analysis.frames import Analysis, analyse
from recall.analysis.metrics import METRICS
from recall.report import paper
from recall.report.tables import all_tables
from recall.report.tables.pivot import Table, estimate_text, number_text
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


def reached() -> str:
    """Return average performance on CW3 beside the paper's."""
    today = _analysis("results/cw3-n-step").scores.final.mean()
    before = _analysis("results/cw3").scores.groupby(["label", "method"], observed=True).final
    rows = [("**RECALL**, today's learner", f"**{number_text(today)}**", "recall")]
    for (label, method), value in before.mean().sort_values(ascending=False).items():
        rows.append((NAMES.get(label, label), number_text(value), method))
    lines = [
        "| method | 300,000 steps per task | paper, 1,000,000 steps |",
        "| --- | ---: | ---: |",
    ]
    for name, ours, method in rows:
        theirs = estimate_text(paper.over_family("cw3", METRICS[0], method))
        lines.append(f"| {name} | {ours} | {theirs} |")
    return "\n".join([*lines, ""])


def with_tables(page: str) -> str:
    """Return the text of a page with its tables as the records have them now."""

    def written(found: re.Match[str]) -> str:
        start, folder, name, end = found.groups()
        table = markdown_grid(_tables(folder)[name]) if name else reached()
        return f"{start}\n{table}\n{end}"

    return _TABLE.sub(written, page)


def main() -> None:
    """Write every page again."""
    for name in PAGES:
        path = ROOT / name
        path.write_text(with_tables(path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
