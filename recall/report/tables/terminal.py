"""Print tables on the terminal, with as much of their numbers as its width has room for."""

from collections.abc import Collection, Iterable

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from recall.analysis.bootstrap import Estimate
from recall.report.tables.table import Cell, Table, estimate_text, notes_below

LEFT_OUT = "The terminal is too narrow for intervals; report.md has them."
_WIDEST_HEADING = 28
_FRAME = 3  # a line and two spaces for every column
# What stands between a number and its interval, in the order of preference. None: no interval.
_BESIDE, _BELOW = " ", "\n"
_LAYOUTS = (_BESIDE, _BELOW, None)


def print_table(table: Table, console: Console, told: Collection[str] = ()) -> None:
    """Print a table; notes that were `told` already are not repeated below it."""
    fitting = (layout for layout in _LAYOUTS if _width(table, layout) <= console.width)
    layout = next(fitting, None)
    notes = [note for note in notes_below(table) if note not in told]
    if layout is None and _has_intervals(table):
        notes.append(LEFT_OUT)
    shown = RichTable(title=escape(table.title), caption=escape("\n".join(notes)))
    shown.add_column(escape(table.corner), overflow="fold", max_width=_WIDEST_HEADING)
    for column in table.columns:
        shown.add_column(escape(column), justify="right")
    for row in table.rows:
        cells = (_styled(cell, table, layout) for cell in row.cells)
        shown.add_row(escape(row.heading), *cells)
    console.print(shown)


def _styled(cell: Cell, table: Table, layout: str | None) -> str:
    """Return the text of a cell with the marks of its style."""
    text = escape(_content(cell, table, layout))
    if cell.is_papers:
        return f"[dim]{text}[/dim]"
    return f"[bold]{text}[/bold]" if cell.bold else text


def _content(cell: Cell, table: Table, layout: str | None) -> str:
    if cell.text is not None:
        return cell.text
    return _number(cell.paper if cell.is_papers else cell.ours, table, layout)


def _number(estimate: Estimate | None, table: Table, layout: str | None) -> str:
    text = estimate_text(estimate, table.decimals)
    return text.split(" ")[0] if layout is None else text.replace(" ", layout, 1)


def _width(table: Table, layout: str | None) -> int:
    """Return how wide a table must be, so that nothing but words is broken into lines."""
    headings = [table.corner, *(row.heading for row in table.rows)]
    widths = [min(_WIDEST_HEADING, max(map(cell_len, headings)))]
    for number, column in enumerate(table.columns):
        cells = [row.cells[number] for row in table.rows]
        numbers = [
            line
            for cell in cells
            if cell.text is None
            for line in _content(cell, table, layout).split("\n")
        ]
        words = [*column.split(), *(word for cell in cells for word in (cell.text or "").split())]
        widths.append(_longest([*numbers, *words]))
    return sum(widths) + _FRAME * len(widths) + 1


def _longest(texts: Iterable[str]) -> int:
    return max(map(cell_len, texts), default=0)


def _has_intervals(table: Table) -> bool:
    estimates = (
        each for row in table.rows for cell in row.cells for each in (cell.ours, cell.paper)
    )
    return any(each is not None and each.interval is not None for each in estimates)
