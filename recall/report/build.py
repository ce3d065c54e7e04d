"""Build a report: gather runs, then write tables, figures and a page into one folder."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from recall.analysis.arrange import arranged
from recall.analysis.collection import Collection, gather, unequal_lengths
from recall.analysis.frames import Analysis, analyse, write_data
from recall.analysis.labels import grouped
from recall.analysis.measures import Measure, of_success
from recall.errors import BadValueError
from recall.files.atomic import write_text
from recall.files.paths import given_path, given_paths
from recall.report import summary
from recall.report.figures import Detailed, Gallery, Style, draw_all
from recall.report.manifest import PAGE, check_place, replacing_earlier
from recall.report.page import page
from recall.report.tables import all_tables
from recall.report.tables.protocols import protocol_tables
from recall.report.tables.table import Table, notes_below
from recall.report.tables.terminal import print_table
from recall.report.tables.writers import write_tables
from recall.runs.wording import counted
from recall.settings.checked import from_plain

Folder = str | Path


@dataclass(frozen=True)
class Report:
    """A finished report: its contents, and the folder it was written to."""

    folder: Path
    collection: Collection
    analysis: Analysis
    tables: list[Table]
    figures: Gallery
    problems: tuple[str, ...]
    """Everything that was wrong or left out."""


def make_report(
    folders: Iterable[Folder] | Folder,
    out: Folder = "report",
    reference: Iterable[Folder] | Folder = (),
    measure: Measure | None = None,
    figures: bool = True,
    console: Console | None = None,
    detailed: int | None = 2,
    live: bool = False,
    methods: Sequence[str] | str = (),
    names: Mapping[str, str] | None = None,
    style: Style = "page",
) -> Report:
    """Gather the runs below `folders` and write tables, figures and a page into `out`.

    Runs that cannot be read are left out and reported in `problems`; it is an error if there is
    nothing to show at all. Files that an earlier report wrote into `out` are replaced once the new
    report is complete, and no others.

    Args:
        folders: Folders of runs, or folders that contain them.
        out: Folder of the report.
        reference: Folders of single-task runs, with which forward transfer compares, besides those
            below `folders`. Where there are none, those shipped with the package are used if their
            settings fit.
        measure: What counts as success.
        figures: Whether to draw figures.
        console: Where the main tables and the problems are printed, if anywhere.
        detailed: Number of sequences per family that get figures of their own; None means all.
        live: Whether the page loads itself again every few seconds.
        methods: Names or labels of what is shown, in this order. None given: all.
        names: From labels to others; that of a method is renamed for all its variants.
        style: "page" or "paper", for which figures are made.
    """
    style = from_plain(Style, style, "style")
    detailed = from_plain(Detailed, detailed, "detailed")
    out, given = given_path(out, "out"), given_paths(folders, "folders")
    measure = of_success(measure)
    analysis = analyse(arranged(_gathered(given, reference), methods, names), measure)
    tables = all_tables(analysis)
    title = ", ".join(map(str, given))
    kinds = None if figures else ()
    return write_report(analysis, tables, out, title, kinds, console, detailed, live, style=style)


def make_board(
    folders: Iterable[Folder] | Folder,
    out: Folder = "board",
    reference: Iterable[Folder] | Folder = (),
    measure: Measure | None = None,
    console: Console | None = None,
) -> Report:
    """Write a page of all methods below `folders`, with a table for every protocol, into `out`.

    The arguments are those of `make_report`.
    """
    out, given = given_path(out, "out"), given_paths(folders, "folders")
    collection = _gathered(given, reference)
    if not collection.sequential.runs:
        raise BadValueError(
            "a board shows runs of sequences, and all of these are of single tasks: "
            "`recall report` shows them"
        )
    analysis = analyse(collection, of_success(measure))
    tables = protocol_tables(analysis)
    title = ", ".join(map(str, given))
    return write_report(analysis, tables, out, title, (), console, board=True)


def _gathered(folders: Iterable[Path], reference: Iterable[Folder] | Folder) -> Collection:
    collection = gather(folders, reference)
    if not collection.runs:
        reasons = " ".join(collection.problems) or "no folder was named."
        raise BadValueError(f"there are no runs to report: {reasons}")
    return collection


def write_report(
    analysis: Analysis,
    tables: list[Table],
    out: Path,
    title: str,
    kinds: Sequence[str] | None = None,
    console: Console | None = None,
    detailed: int | None = 2,
    live: bool = False,
    board: bool = False,
    style: Style = "page",
) -> Report:
    """Write tables, data, figures of some kinds (None: all) and a page into `out`."""
    collection, problems = analysis.collection, problems_of(analysis, board)
    check_place(out)
    status = nullcontext() if console is None else console.status("Writing tables and figures")
    with replacing_earlier(out) as new, status:
        write_tables(tables, new / "tables")
        write_data(analysis, new / "data")
        figures = new / "figures"
        measure = analysis.measure
        gallery = draw_all(collection, figures, measure, kinds, detailed=detailed, style=style)
        html = page(analysis, tables, gallery, problems, title, live, board)
        write_text(new / PAGE, html)
    if console is not None:  # last, because the reader of a pipe may leave early
        _show(analysis, tables, problems, console)
    return Report(out, collection, analysis, tables, gallery.moved(new, out), problems)


def problems_of(analysis: Analysis, board: bool = False) -> tuple[str, ...]:
    """Return the problems of gathering, of metrics and training records, and health warnings."""
    collection = analysis.collection
    training = (run.training_problem for run in collection.runs)
    found = [
        *collection.problems,
        *(() if board else unequal_lengths(collection.runs)),  # a board has no figures
        *analysis.problems,
        *(problem for problem in training if problem is not None),
        *health_problems(collection),
    ]
    return tuple(dict.fromkeys(found))


def health_problems(collection: Collection) -> list[str]:
    """Return one sentence for each label and kind of warning, with the earliest as an example."""
    problems = []
    for label, runs in collection.by_label().items():
        warned = [(warning, run) for run in runs for warning in run.warnings]
        for kind, mine in grouped(warned, lambda pair: pair[0]["health"]).items():
            first, where = min(mine, key=lambda pair: pair[0]["step"])
            count = len({id(run) for _, run in mine})
            problems.append(
                f"{label}: {kind.replace('_', ' ')} in {count} of {counted(len(runs), 'run')}. "
                f"The first was {where.name} in {where.folder} at step {first['step']:,}: "
                f"{first['message']}."
            )
    return problems


def _show(
    analysis: Analysis, tables: Sequence[Table], problems: Sequence[str], console: Console
) -> None:
    """Print the main tables, a caution, and what was wrong or left out."""
    show_tables(tables, console)
    if caution := summary.few_seeds(analysis.collection):
        console.print(f"[yellow]{escape(caution)}[/yellow]", soft_wrap=True)
    for problem in problems:
        console.print(f"[yellow]left out or wrong:[/yellow] {escape(problem)}", soft_wrap=True)


def show_tables(tables: Sequence[Table], console: Console) -> None:
    """Print the main tables on the console, and every note once."""
    told = set[str]()
    for table in tables:
        if not table.detail:
            print_table(table, console, told)
            console.print()
            told.update(notes_below(table))
