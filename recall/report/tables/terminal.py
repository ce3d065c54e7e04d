"""Print tables: on a terminal with as much of their numbers as fits, elsewhere tab-separated."""

from collections.abc import Collection

from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table as RichTable

from recall.files.streams import is_terminal
from recall.report.tables.table import Cell, Table, estimate_text, notes_below

LEFT_OUT = "The terminal is too narrow for intervals; the files have them."
_WIDEST_HEADING = 28


def print_table(table: Table, console: Console, told: Collection[str] = ()) -> None:
    """Print a table; notes that were `told` already are not repeated below it.

    Intervals stand beside their numbers, or below them, or are left out, whichever fits.
    """
    notes = [note for note in notes_below(table) if note not in told]
    if not is_terminal(console):
        _print_lines(table, notes, console)
        return
    for between in (" ", "\n", None):
        shown = _laid_out(table, between)
        least = Measurement.get(console, console.options.update(width=10_000), shown).minimum
        if least <= console.width:
            break
    estimates = (
        each for row in table.rows for cell in row.cells for each in (cell.ours, cell.paper)
    )
    if between is None and any(each and each.interval for each in estimates):
        notes.append(LEFT_OUT)
    shown.caption = escape("\n".join(notes))
    console.print(shown)


def _print_lines(table: Table, notes: Collection[str], console: Console) -> None:
    """Print a header and a line for each row, for grep and cut, among comments behind a #."""
    print(f"# {table.title}", file=console.file)
    print(table.corner, *table.columns, sep="\t", file=console.file)
    for row in table.rows:
        cells = (_text(cell, table.decimals, " ") for cell in row.cells)
        print(row.heading, *cells, sep="\t", file=console.file)
    for note in notes:
        print(f"# {note}", file=console.file)


def _laid_out(table: Table, between: str | None) -> RichTable:
    """Return the table with `between` before every interval, or without intervals."""
    shown = RichTable(title=escape(table.title))
    shown.add_column(escape(table.corner), overflow="fold", max_width=_WIDEST_HEADING)
    texts = [[_text(cell, table.decimals, between) for cell in row.cells] for row in table.rows]
    for place, column in enumerate(table.columns):
        numbers = [
            line
            for row, line_of in zip(table.rows, texts, strict=True)
            if row.cells[place].text is None
            for line in line_of[place].split("\n")
        ]
        # Headings may be broken into lines between words, but numbers and intervals not.
        widest = max(map(len, [*numbers, *column.split()]), default=0)
        shown.add_column(escape(column), justify="right", min_width=widest)
    for row, line in zip(table.rows, texts, strict=True):
        detail = f"\n[dim]{escape(row.detail)}[/dim]" if row.detail else ""
        cells = (_styled(cell, text) for cell, text in zip(row.cells, line, strict=True))
        shown.add_row(escape(row.heading) + detail, *cells)
    return shown


def _text(cell: Cell, decimals: int, between: str | None) -> str:
    if cell.text is not None:
        return cell.text
    text = estimate_text(cell.paper if cell.is_papers else cell.ours, decimals)
    return text.split(" ")[0] if between is None else text.replace(" ", between, 1)


def _styled(cell: Cell, text: str) -> str:
    if cell.is_papers:
        return f"[dim]{escape(text)}[/dim]"
    return f"[bold]{escape(text)}[/bold]" if cell.bold else escape(text)
