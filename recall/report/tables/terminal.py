"""Print tables: on a terminal with as much of their numbers as fits, elsewhere tab-separated."""

from collections.abc import Collection

from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table as RichTable

from recall.files.streams import is_terminal
from recall.report.tables.table import Cell, Table, notes_below

LEFT_OUT = "The terminal is too narrow for intervals; the files have them."
_WIDEST_HEADING = 28


def print_table(table: Table, console: Console, told: Collection[str] = ()) -> None:
    """Print a table; notes that were `told` already are not repeated below it.

    Intervals stand beside their numbers, or below them, or are left out, whichever fits. Elsewhere
    than on a terminal, a header and a line for each row suit grep and cut, among comments behind #.
    """
    notes = [note for note in notes_below(table) if note not in told]
    if not is_terminal(console):
        lines = [f"# {table.title}", "\t".join([table.corner, *table.columns])]
        for row in table.rows:
            words = (cell.words(table.decimals) for cell in row.cells)
            lines.append("\t".join([row.heading, *words]))
        print(*lines, *(f"# {note}" for note in notes), sep="\n", file=console.file)
        return
    for between in (" ", "\n", None):
        shown = _laid_out(table, between)
        least = Measurement.get(console, console.options.update(width=10_000), shown).minimum
        if least <= console.width:
            break
    estimates = (cell.estimate for row in table.rows for cell in row.cells)
    if between is None and any(each and each.interval for each in estimates):
        notes.append(LEFT_OUT)
    shown.caption = escape("\n".join(notes))
    console.print(shown)


def _laid_out(table: Table, between: str | None) -> RichTable:
    """Return the table with `between` before every interval, or without intervals."""

    def text(cell: Cell) -> str:
        words = cell.words(table.decimals)
        if cell.text is not None:
            return words
        return words.split(" ")[0] if between is None else words.replace(" ", between, 1)

    texts = [[text(cell) for cell in row.cells] for row in table.rows]
    shown = RichTable(title=escape(table.title))
    shown.add_column(escape(table.corner), overflow="fold", max_width=_WIDEST_HEADING)
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
        styles = ["dim" if row.papers else "bold" if cell.bold else "none" for cell in row.cells]
        cells = (f"[{style}]{escape(each)}[/]" for style, each in zip(styles, line, strict=True))
        shown.add_row(escape(row.heading) + detail, *cells)
    return shown
