"""Build a report: gather runs, then write tables, figures and a page into one folder."""

import contextlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from recall.analysis.collection import Collection, arranged, gather, unequal_lengths
from recall.analysis.frames import Analysis, analyse, write_data
from recall.analysis.labels import grouped
from recall.analysis.metrics import Measure, of_success
from recall.errors import BadValueError
from recall.files.atomic import remove_leftovers, write_text
from recall.files.paths import given_path, given_paths, is_inside
from recall.files.reading import read_json
from recall.report import summary
from recall.report.figures import Detailed, Gallery, Style, draw_all
from recall.report.page import page
from recall.report.tables import all_tables
from recall.report.tables.pivot import Table, notes_below
from recall.report.tables.protocols import protocol_tables
from recall.report.tables.writers import print_table, write_tables
from recall.runs.wording import counted
from recall.settings.checked import from_plain

Folder = str | Path
PAGE = "index.html"
FILE = "files.json"
_FOLDERS = ("tables", "figures", "data")
_NEW = ".new-"  # how the name of a folder begins in which a report is being written


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
    nothing to show at all. Only files of an earlier report are replaced, once the new is complete.

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
    title, kinds = ", ".join(map(str, given)), None if figures else ()
    return write_report(analysis, tables, out, title, kinds, console, detailed, live, style=style)


def make_board(
    folders: Iterable[Folder] | Folder,
    out: Folder = "board",
    reference: Iterable[Folder] | Folder = (),
    measure: Measure | None = None,
    console: Console | None = None,
) -> Report:
    """Write a page of all methods below `folders`, with a table for every protocol, into `out`."""
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
    with (
        _replacing_earlier(out) as new,
        console.status("Writing tables and figures") if console else contextlib.nullcontext(),
    ):
        write_tables(tables, new / "tables")
        write_data(analysis, new / "data")
        gallery = draw_all(
            collection, new / "figures", analysis.measure, kinds, detailed=detailed, style=style
        )
        write_text(new / PAGE, page(analysis, tables, gallery, problems, title, live, board))
    if console is not None:  # last, because the reader of a pipe may leave early
        show_tables(tables, console)
        if caution := summary.few_seeds(collection):
            console.print(f"[yellow]{escape(caution)}[/yellow]", soft_wrap=True)
        for problem in problems:
            console.print(f"[yellow]left out or wrong:[/yellow] {escape(problem)}", soft_wrap=True)
    drawn = tuple(
        replace(
            each, paths={kind: out / path.relative_to(new) for kind, path in each.paths.items()}
        )
        for each in gallery
    )
    return Report(out, collection, analysis, tables, replace(gallery, drawn=drawn), problems)


def problems_of(analysis: Analysis, board: bool = False) -> tuple[str, ...]:
    """Return all that was wrong: gathering, metrics, training records, and health warnings."""
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
            share = f"{len({run for _, run in mine})} of {counted(len(runs), 'run')}"
            problems.append(
                f"{label}: {kind.replace('_', ' ')} in {share}. "
                f"The first was {where.name} in {where.folder} at step {first['step']:,}: "
                f"{first['message']}."
            )
    return problems


def show_tables(tables: Sequence[Table], console: Console) -> None:
    """Print the main tables on the console, and every note once."""
    told = set[str]()
    for table in tables:
        if not table.detail:
            print_table(table, console, told)
            console.print()
            told.update(notes_below(table))


@contextlib.contextmanager
def _replacing_earlier(folder: Path) -> Iterator[Path]:
    """Let the caller write a report into a new folder, whose files then move into `folder`.

    They replace those that an earlier report wrote there, and no others; a folder that holds
    anything but an earlier report, or the start of one, is refused. If the caller fails, all stays
    as it is.
    """
    earlier = _files_of_earlier(folder)
    for path in sorted(folder.iterdir()) if folder.is_dir() and not earlier else ():
        if path.name not in _FOLDERS and not path.name.startswith(_NEW):
            raise BadValueError(
                f"{folder} is not empty, and {path.name} in it is not an earlier report's: choose "
                "another folder"
            )
    folder.mkdir(parents=True, exist_ok=True)
    remove_leftovers(folder.glob(f"{_NEW}*"))  # of reports that were killed
    # In `folder` and not beside it, which may be another disk, or not writable.
    with tempfile.TemporaryDirectory(prefix=_NEW, dir=folder, ignore_cleanup_errors=True) as place:
        new = Path(place)
        yield new
        names = {path.relative_to(new).as_posix() for path in new.rglob("*") if path.is_file()}
        # With both in the list, the next report finds all files even if this one ends halfway.
        write_text(folder / FILE, json.dumps(sorted(names | earlier), indent=1) + "\n")
        for path in (folder / name for name in earlier - names):
            path.unlink()
            if path.parent != folder and not any(path.parent.iterdir()):
                path.parent.rmdir()
        for name in sorted(names):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (new / name).replace(folder / name)


def _files_of_earlier(folder: Path) -> set[str]:
    """Return the files of the report in a folder; none if no report wrote the list."""
    try:
        names = read_json(folder / FILE, kind=list[str])
    except BadValueError:  # no earlier report, or an unreadable list
        return set()
    # A list without the page is another program's. One that was edited leads nowhere else.
    inside = (name for name in names if PAGE in names and is_inside(folder / name, folder))
    return {name for name in inside if (folder / name).is_file()}
