"""Write the tables of pages from the records: `python -m tests.pages` (`make pages`).

In a page, `<!-- table: results/cw3 cw3 -->` stands above the table `cw3` of
`recall report results/cw3`, `<!-- table: ranked -->` above that of the function `ranked`, and
`<!-- end of table -->` below it. What lies between is generated.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import pandas as pd

from recall.analysis.collection import gather
from recall.analysis.frames import analyse, evaluations_frame
from recall.analysis.metrics import METRICS
from recall.methods import METHODS
from recall.report import paper
from recall.report.tables import all_tables
from recall.report.tables.pivot import Table, estimate_text, number_text
from recall.report.tables.writers import markdown_grid

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/results.md")
_TABLE = re.compile(r"(<!-- table: (\S+)(?: (\S+))? -->\n).*?(<!-- end of table -->)", re.DOTALL)
NAMES = {"PM": "Perfect memory"}


RECORD = ROOT / "results/methods"
STAGE = 60_000  # steps of each task there
COMMON = 150_000  # the last step that every method reached


@cache
def _tables(folder: str) -> dict[str, Table]:
    analysis = analyse(gather(ROOT / folder, ROOT / "results/reference"))
    return {table.name: table for table in all_tables(analysis)}


@cache
def _successes() -> pd.Series:
    """Return the success rates in `RECORD` by label, step, position and sequence."""
    found = evaluations_frame(gather(RECORD)).query("mode == 'stochastic'")
    return found.set_index(["label", "step", "position", "sequence"]).success.sort_index()


def _averages() -> pd.DataFrame:
    """Return the average over the tasks of each sequence [label, sequence], the best first."""
    last = _successes().xs(COMMON, level="step").groupby(["label", "sequence"]).mean().unstack()
    return last.loc[last.mean(axis=1).round(6).sort_values(ascending=False).index]


def ranked() -> str:
    """Return average success of all methods under the same settings, beside the paper's."""
    methods = {method.label: name for name, method in METHODS.items()}
    rows = []
    for label, means in _averages().iterrows():
        theirs = estimate_text(paper.over_family("cw3", METRICS[0], methods[label]))
        name = NAMES.get(label, label)
        rows.append((name, means.mean().round(6), theirs))
    return _grid(("method", "150,000 steps", "paper, 3,000,000 steps"), rows)


def compared() -> str:
    """Return what the methods have learned at the end of stages, and kept."""
    averages, rows = _averages(), []
    for label, means in averages.iterrows():
        steps = ((STAGE, 0), (2 * STAGE, 1), (COMMON, 2), (COMMON, 0), (COMMON, 1))
        shown = [_successes()[label, step, position].mean() for step, position in steps]
        ahead = averages.loc["RECALL"] - means
        error = ahead.std() / len(ahead) ** 0.5
        text = "" if not error else f"{number_text(ahead.mean())} ± {number_text(error)}"
        rows.append((NAMES.get(label, label), *shown, means.mean().round(6), text))
    heads = (
        *("method", "first task learned", "second learned", "third, halfway"),
        *("first task later", "second later", "average", "RECALL ahead by"),
    )
    return _grid(heads, rows)


def _grid(heads: Sequence[str], rows: Iterable[Sequence[str | float]]) -> str:
    """Return a table in Markdown."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for row in rows:
        lines.append([each if isinstance(each, str) else number_text(each) for each in row])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def with_tables(page: str) -> str:
    """Return the text of a page with its tables as the records have them now."""

    def written(found: re.Match[str]) -> str:
        start, folder, name, end = found.groups()
        table = markdown_grid(_tables(folder)[name]) if name else globals()[folder]()
        return f"{start}\n{table}\n{end}"

    return _TABLE.sub(written, page)


def main() -> None:
    """Write every page again."""
    for name in PAGES:
        path = ROOT / name
        path.write_text(with_tables(path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
