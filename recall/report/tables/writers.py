"""Write tables as Markdown, CSV and LaTeX files, and on a terminal."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from textwrap import wrap

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table as RichTable

from recall.files.atomic import write_text
from recall.files.names import slug, stem
from recall.files.streams import is_terminal
from recall.report.tables.pivot import BOLD, MISSING, Cell, Row, Table, notes_below

_LATIN = 0x180  # end of the Latin letters
_MOST_COLUMNS = 7  # of a LaTeX table on the text of a page
_MANY = 5  # columns that need smaller letters
_LONG = 28  # letters of a heading that is broken into lines
_WIDEST_WORDS = 14  # letters in a line of a LaTeX heading
_LATEX = {
    "\\": r"\textbackslash{}",
    "λ": r"$\lambda$",
    "^": r"\^{}",
    "~": r"\~{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    '"': "''",
    "\N{RIGHTWARDS ARROW}": r"$\to$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "\N{MINUS SIGN}": "$-$",
    MISSING: "--",
    **{character: rf"\{character}" for character in "&%$#_{}"},
}


def markdown(table: Table) -> str:
    """Return a table as GitHub-style Markdown, with its title above and its notes below."""
    parts = [f"### {table.title}\n", markdown_grid(table), *(f"{n}\n" for n in notes_below(table))]
    return "\n".join(parts)


def markdown_grid(table: Table) -> str:
    """Return the rows and columns of a table as GitHub-style Markdown."""
    lines = [[table.corner, *table.columns], ["---", *["---:"] * len(table.columns)]]
    for row in table.rows:
        name = f"{row.heading}: {row.detail}" if row.detail else row.heading
        lines.append([name, *(_in_markdown(cell, table.decimals) for cell in row.cells)])
    escaped = ([text.replace("|", r"\|") for text in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in escaped)


def _in_markdown(cell: Cell, decimals: int) -> str:
    value, space, interval = cell.words(decimals).partition(" ")
    return f"**{value}**{space}{interval}" if cell.bold else f"{value}{space}{interval}"


def comma_separated(table: Table) -> str:
    """Return a table as CSV with one line per cell, so that programs need not parse texts."""
    names = [table.corner, "column", "value", "low", "high", "best", "runs",
             "paper", "paper_low", "paper_high", "text"]  # fmt: skip
    lines, blank = [], ("", "", "")
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            found = cell.estimate
            numbers = (found.value, *(found.interval or ("", ""))) if found else blank
            ours, papers = (blank, numbers) if row.papers else (numbers, blank)
            line = [row.heading, column, *ours, int(cell.bold), cell.runs, *papers, cell.text or ""]
            lines.append(line)
    return pd.DataFrame(lines, columns=names, dtype=object).to_csv(index=False, lineterminator="\n")


def latex(table: Table) -> str:
    """Return a table as LaTeX, with intervals below values; it needs booktabs.

    A table with more columns than fit the text of a page has them as rows.
    """
    if len(table.columns) > max(_MOST_COLUMNS, len(table.rows)):
        cells = zip(*(row.cells for row in table.rows), strict=True)
        rows = tuple(Row(name, own) for name, own in zip(table.columns, cells, strict=True))
        table = replace(table, columns=tuple(row.heading for row in table.rows), rows=rows)
    bold = [BOLD] if any(cell.bold for row in table.rows for cell in row.cells) else []
    notes = _escaped(" ".join([*table.notes, *bold]))
    lines = [
        r"\begin{table}[t]",
        r"\centering",
        rf"\caption{{{_escaped(table.title)}.}}",
        rf"\label{{tab:{slug(table.name)}}}",
        r"\small" if len(table.columns) < _MANY else r"\footnotesize",
        r"\setlength{\tabcolsep}{3pt}",
        rf"\begin{{tabular}}{{@{{}}l{'r' * len(table.columns)}@{{}}}}",
        r"\toprule",
        _latex_row([_escaped(table.corner), *map(_latex_heading, table.columns)]),
        r"\midrule",
        *(line for row in table.rows for line in _latex_rows(row, table.decimals)),
        r"\bottomrule",
        r"\end{tabular}",
        r"\par\medskip",
        rf"\begin{{minipage}}{{\linewidth}}\footnotesize {notes}\end{{minipage}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _latex_heading(text: str) -> str:
    lines = wrap(text, _WIDEST_WORDS, break_long_words=False) or [""]
    joined = r" \\ ".join(map(_escaped, lines))
    return joined if len(lines) == 1 else rf"\shortstack[r]{{{joined}}}"


def _latex_rows(row: Row, decimals: int) -> list[str]:
    """Return a line with the values, and one with the intervals if there are any."""
    name = _escaped(row.heading)
    if len(row.heading) > _LONG:
        name = rf"\parbox[t]{{11em}}{{\raggedright {name}}}"
    values, intervals = [name], [rf"\scriptsize {_escaped(row.detail)}" if row.detail else ""]
    for cell in row.cells:
        value, _, interval = cell.words(decimals).partition(" ")
        if cell.text is not None or value == MISSING:
            values.append(_escaped(cell.words(decimals)))
        else:
            values.append(rf"$\mathbf{{{value}}}$" if cell.bold else f"${value}$")
        inside = "" if cell.text else interval.replace("inf", r"\infty")
        intervals.append(rf"\scriptsize ${inside}$" if inside else "")
    # The paper's numbers belong to the row above them.
    space = [] if row.papers else [r"\addlinespace[2pt]"]
    return [*space, _latex_row(values), *([_latex_row(intervals)] if any(intervals) else [])]


def _latex_row(texts: list[str]) -> str:
    # A bracket after the end of a row would be taken for its height.
    guard = "{}" if texts[0].startswith("[") else ""
    return guard + " & ".join(texts) + r" \\"


def _escaped(text: str) -> str:
    # LaTeX knows the letters of western languages; it would stop at others.
    known = (character if ord(character) < _LATIN else "?" for character in text)
    return "".join(_LATEX.get(each, other) for each, other in zip(text, known, strict=True))


WRITERS = {"md": markdown, "csv": comma_separated, "tex": latex}


def write_tables(tables: list[Table], folder: Path) -> None:
    """Write every table in every format: `tables/<name>.md`, `.csv`, `.tex`."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in tables:
        for suffix, write in WRITERS.items():
            write_text(folder / f"{stem(table.name)}.{suffix}", write(table))


LEFT_OUT = "The terminal is too narrow for intervals; the files have them."
_WIDEST_HEADING = 28


def print_table(table: Table, console: Console, told: Collection[str] = ()) -> None:
    """Print a table; notes that were `told` already are not repeated below it.

    Intervals stand beside their numbers, or below them, or are left out, whichever fits. Elsewhere
    than on a terminal, lines suit grep and cut, among comments behind #.
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
