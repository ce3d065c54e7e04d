"""Printing of rows as tables, as tab-separated lines or as JSON."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from rich.console import Console
from rich.table import Column, Table
from tyro.conf import FlagCreatePairsOff, arg

from recall.files.streams import is_terminal

Flag = FlagCreatePairsOff[bool]  # an option that is off unless given, without a --no- form
AsJson = Annotated[Flag, arg(name="json", help="Print one JSON document.")]
TASK_NAMES = (
    'A name, such as push or, of a task that the sequence repeats, "3 push"; or a position, from 0 '
    "on."
)
"""The part of an option's help that says how a task is named."""


def on_terminal() -> bool:
    """Return True if standard output is a terminal."""
    return is_terminal(Console())


def print_json(value: Any) -> None:
    """Print one JSON document to standard output."""
    print(json.dumps(value, indent=2))


def print_rows(rows: Sequence[Mapping[str, Any]], header: bool = False) -> None:
    """Print a table on a terminal; elsewhere, print tab-separated lines for grep and cut.

    With `header`, the names of the columns are their first line, as they are in the table.
    """
    if not on_terminal():
        if header and rows:
            print("\t".join(rows[0]))
        for row in rows:
            print("\t".join(_text(value, ",") for value in row.values()))
        return
    # Long names are folded, not cut, because they differ at their ends.
    table = Table(*(Column(name.replace("_", " "), overflow="fold") for name in rows[0]))
    for row in rows:
        table.add_row(*(_text(value, ", ") for value in row.values()))
    Console().print(table)


def _text(value: Any, comma: str) -> str:
    return comma.join(map(str, value)) if isinstance(value, tuple | list) else str(value)
