"""Printing of rows as tables, as tab-separated lines or as JSON."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from rich.console import Console
from rich.table import Column, Table
from tyro.conf import FlagCreatePairsOff, arg

from recall.files.streams import is_terminal

Flag = FlagCreatePairsOff[bool]  # an option that is off unless given, without a --no- form
AsJson = Annotated[Flag, arg(help="Print one JSON document.")]
TASK_NAMES = (
    'A name, such as push or, of a task that the sequence repeats, "3 push"; or a position, from 0 '
    "on."
)
"""The part of an option's help that says how a task is named."""


def print_json(value: Any) -> None:
    """Print one JSON document to standard output."""
    print(json.dumps(value, indent=2))


def print_rows(rows: Sequence[Mapping[str, Any]], as_json: bool = False) -> None:
    """Print a table on a terminal; elsewhere, tab-separated lines for grep and cut; or JSON."""
    if as_json:
        print_json(rows)
        return
    if not is_terminal(Console()):
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
