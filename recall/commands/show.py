"""Rows for people, for pipes and for programs."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from rich.console import Console
from rich.table import Column, Table
from tyro.conf import arg

AsJson = Annotated[bool, arg(name="json", help="Print one JSON document.")]


def is_terminal() -> bool:
    """Whether a person is looking."""
    return Console().is_terminal


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    print(json.dumps(value, indent=2))


def print_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """A table on a terminal; elsewhere a line per row, tabs between, for grep and cut."""
    if not is_terminal():
        for row in rows:
            print("\t".join(_text(value, ",") for value in row.values()))
        return
    # Folded, not cut: names differ at their ends.
    table = Table(*(Column(name.replace("_", " "), overflow="fold") for name in rows[0]))
    for row in rows:
        table.add_row(*(_text(value, ", ") for value in row.values()))
    Console().print(table)


def _text(value: Any, comma: str) -> str:
    return comma.join(map(str, value)) if isinstance(value, tuple | list) else str(value)
