"""Printing of rows as tables, as tab-separated lines or as JSON."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table
from tyro.conf import FlagCreatePairsOff, arg

from recall.files.streams import is_terminal

Flag = FlagCreatePairsOff[bool]  # an option that is off unless given, without a --no- form
AsJson = Annotated[Flag, arg(help="Print one JSON document.")]


def tell(line: str) -> None:
    """Print a line beside the results, to standard error."""
    print(line, file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    """Print one JSON document to standard output."""
    print(json.dumps(value, indent=2))


def print_rows(rows: Sequence[Mapping[str, Any]], as_json: bool = False) -> None:
    """Print a table on a terminal; elsewhere, tab-separated lines for grep and cut; or JSON."""
    if as_json:
        print_json(rows)
        return
    if not rows:
        return
    if not is_terminal(Console()):
        print("\t".join(rows[0]))
        for row in rows:
            print("\t".join(_text(value, ",") for value in row.values()))
        return
    names = [name.replace("_", " ") for name in rows[0]]
    cells = [[_text(value, ", ") for value in row.values()] for row in rows]
    columns = map(_column, names, zip(*cells, strict=True))
    table = Table(*columns, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    for texts in cells:
        table.add_row(*texts)
    Console().print(table)


def _column(heading: str, texts: Sequence[str]) -> Column:
    """Return a column, which breaks no numbers and no units if it consists of numbers."""
    if all(text[:1] in "-+0123456789" for text in texts):
        width = max(map(cell_len, (*heading.split(), *texts)))
        return Column(heading, justify="right", width=width)
    return Column(heading, overflow="fold")


def _text(value: Any, comma: str) -> str:
    if isinstance(value, tuple | list):
        return comma.join(map(str, value))
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
    return "-" if value is None else str(value)
