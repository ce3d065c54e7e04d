"""Write the tables of pages from the records: `python -m tests.pages` (`make pages`).

In a page, `<!-- table: results/cw3 cw3 -->` stands above the table `cw3` of
`recall report results/cw3`, and `<!-- end of table -->` below it. What lies between is generated.
"""

import re
from functools import cache
from pathlib import Path

from recall.analysis.collection import gather
from recall.analysis.frames import analyse
from recall.report.tables import all_tables
from recall.report.tables.table import Table
from recall.report.tables.writers import markdown_grid

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/results.md", "docs/results-appendix.md")
_TABLE = re.compile(r"(<!-- table: (\S+) (\S+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


@cache
def _tables(folder: str) -> dict[str, Table]:
    return {table.name: table for table in all_tables(analyse(gather(ROOT / folder)))}


def with_tables(page: str) -> str:
    """Return the text of a page with its tables as the records have them now."""

    def written(found: re.Match[str]) -> str:
        start, folder, name, end = found.groups()
        return f"{start}\n{markdown_grid(_tables(folder)[name])}\n{end}"

    return _TABLE.sub(written, page)


def main() -> None:
    """Write every page again."""
    for name in PAGES:
        path = ROOT / name
        path.write_text(with_tables(path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
