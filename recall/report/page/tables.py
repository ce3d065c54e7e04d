"""Render tables that can be sorted."""

import math
from collections.abc import Mapping, Sequence
from itertools import groupby

from recall.analysis.bootstrap import Estimate
from recall.report.page.markup import named, text
from recall.report.tables.table import (
    MISSING,
    Cell,
    Row,
    Table,
    estimate_text,
    notes_below,
    number_text,
)

_MEANS = ("mean", "mean (paper)")  # headings of summary rows, which stay below the others


def tables_section(tables: Sequence[Table], colours: Mapping[str, str]) -> str:
    """Return the section with the tables in their groups; detailed tables are folded."""
    parts = []
    for _, members in groupby(tables, key=lambda table: table.group or table.name):
        group = list(members)
        parts += [table_html(table, colours) for table in group if not table.detail]
        parts += [
            f"<details><summary>{text(table.title)}</summary>{table_html(table, colours)}</details>"
            for table in group
            if table.detail
        ]
    return "".join(parts)


def table_html(table: Table, colours: Mapping[str, str]) -> str:
    """Return one table as HTML; every heading is a button that sorts by its column."""
    lower = table.lower or (False,) * len(table.columns)
    heads = [
        _head(text(table.corner)),
        *(
            _head(named(each, colours), less)
            for each, less in zip(table.columns, lower, strict=True)
        ),
    ]
    rows = "".join(_row(row, table, colours) for row in table.rows)
    notes = "".join(f"<p class='note'>{text(note)}</p>" for note in notes_below(table))
    title = text(table.title)
    return (
        f"<div class='block'><h3>{title}</h3>"
        f"<div class='wide' tabindex='0' role='region' aria-label='{title}'>"
        f"<table class='sorts' style='--columns:{len(table.columns)}'>"
        f"<caption class='unseen'>{title}; a heading sorts by its column</caption>"
        f"<thead><tr>{''.join(heads)}</tr></thead><tbody>{rows}</tbody></table></div>"
        f"<p class='more'>More columns to the right \N{RIGHTWARDS ARROW}</p>"
        f"{notes}</div>"
    )


def _head(words: str, lower: bool = False) -> str:
    """Return the heading of a column; `lower` if less is better, so that it is sorted upwards."""
    less = " data-lower" if lower else ""
    return f"<th scope='col' aria-sort='none'{less}><button type='button'>{words}</button></th>"


def _row(row: Row, table: Table, colours: Mapping[str, str]) -> str:
    pinned = " class='pinned'" if row.heading in _MEANS else ""
    cells = "".join(_cell(cell, table.decimals) for cell in row.cells)
    return f"<tr{pinned}><th scope='row'>{named(row.heading, colours)}</th>{cells}</tr>"


def _cell(cell: Cell, decimals: int) -> str:
    if cell.text is not None:
        return f"<td>{text(cell.text)}</td>"
    if cell.is_papers:
        return (
            f"<td class='theirs' title='the paper'>{_estimate(cell.paper, decimals, 'span')}</td>"
        )
    hint = f" title='mean of {cell.runs} runs'" if cell.runs > 1 else ""
    body = _estimate(cell.ours, decimals, "b" if cell.bold else "span")
    if cell.paper is not None:
        theirs = text(estimate_text(cell.paper, decimals))
        value = theirs.partition(" ")[0]
        body += f"<small title='the paper: {theirs}'>paper {value}</small>"
    return f"<td{_value(cell.ours)}{hint}>{body}</td>"


def _value(estimate: Estimate | None) -> str:
    """Return the value that the cell is sorted by; cells without a number sort last."""
    if estimate is None or math.isnan(estimate.value):
        return ""
    return f" data-value='{estimate.value:.9g}'"


def _estimate(estimate: Estimate | None, decimals: int, tag: str) -> str:
    if estimate is None or math.isnan(estimate.value):
        return MISSING
    body = f"<{tag}>{text(number_text(estimate.value, decimals))}</{tag}>"
    if estimate.interval is not None:
        low, high = (number_text(bound, decimals) for bound in estimate.interval)
        body += f"<small>[{text(low)}, {text(high)}]</small>"
    return body
