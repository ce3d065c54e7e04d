"""Compare two folders of runs: a report in which every label begins with its folder's name."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rich.console import Console

from recall.analysis.collection import Collection, gather
from recall.analysis.frames import analyse
from recall.analysis.metrics import Measure, of_success
from recall.analysis.run_result import RunResult
from recall.errors import BadValueError
from recall.files.paths import given_path, given_paths
from recall.report.build import Folder, Report, write_report
from recall.report.tables import all_tables
from recall.report.tables.pivot import MISSING, Cell, Row, Table

_KINDS = ("average_success", "current_task", "seeds", "task_curves")


def compare(
    first: Folder,
    second: Folder,
    out: Folder = "comparison",
    reference: Iterable[Folder] | Folder = (),
    measure: Measure | None = None,
    figures: bool = True,
    console: Console | None = None,
) -> Report:
    """Compare the runs below two folders, and write tables, figures and a page into `out`.

    Methods and sequences that both folders have are compared. Differences are taken seed by seed
    for the seeds that both have. Forward transfer compares with single-task runs of either folder
    or below `reference`, or else with those shipped with the package, as in `recall.make_report`.
    """
    measure = of_success(measure)
    folders = given_path(first, "first"), given_path(second, "second")
    out, others = given_path(out, "out"), given_paths(reference, "reference")
    if folders[0].resolve() == folders[1].resolve():
        raise BadValueError(f"{first} would be compared with itself: name two different folders")
    sides = gather(folders[0]), gather(folders[1])
    for side, folder in zip(sides, folders, strict=True):
        if not side.runs:
            raise BadValueError(f"{folder} has no runs to compare: {' '.join(side.problems)}")
    shared = set.intersection(*(set(map(_place, side.runs)) for side in sides))
    if not shared:
        raise BadValueError(
            f"{folders[0]} and {folders[1]} have no method and sequence in common: "
            "`recall report` shows both"
        )
    names = folders[0].resolve().name, folders[1].resolve().name
    if names[0] == names[1]:
        names = str(folders[0]), str(folders[1])
    runs = [
        replace(run, label=f"{name}: {run.label}", variant="", changes={})
        for name, side in zip(names, sides, strict=True)
        for run in side.runs
        if _place(run) in shared
    ]
    alone = gather((), [*folders, *others])
    problems = [problem for each in (*sides, alone) for problem in each.problems]
    problems += [
        f"Left out, as only {name} has it: {method} on {sequence}."
        for name, side in zip(names, sides, strict=True)
        for method, sequence in dict.fromkeys(map(_place, side.runs))
        if (method, sequence) not in shared
    ]
    unique = tuple(dict.fromkeys(problems))
    # Names of methods are not those of labels, so the paper's numbers are not shown.
    collection = Collection(tuple(runs), unique, alone.reference_runs, chosen=names)
    analysis = analyse(collection, measure)
    # Differences are what a comparison is made for.
    tables = [
        replace(table, detail=table.detail and not table.name.endswith("differences"))
        for table in all_tables(analysis)
    ]
    settings = _settings_table(sides, names)
    title = f"{names[0]} and {names[1]}"
    kinds = _KINDS if figures else ()
    return write_report(analysis, [settings, *tables], out, title, kinds, console)


def _place(run: RunResult) -> tuple[str, str]:
    return run.method, run.sequence


def _settings_table(sides: Sequence[Collection], names: Sequence[str]) -> Table:
    """Return the table of the settings that differ between the folders' runs of a method."""
    found: dict[str, list[dict[str, None]]] = {}
    for place, side in enumerate(sides):
        for run in side.runs:
            for name, value in run.settings.items():
                many = isinstance(value, list | tuple)
                text = "x".join(map(str, value)) if many else str(value)
                found.setdefault(f"{run.method}: {name}", [{}, {}])[place][text] = None
    methods = set.intersection(*({run.method for run in side.runs} for side in sides))
    rows = [
        Row(heading, tuple(Cell(text=", ".join(own) or MISSING) for own in values))
        for heading, values in found.items()
        if set(values[0]) != set(values[1]) and heading.partition(":")[0] in methods
    ]
    return Table(
        name="settings",
        title="Settings that differ",
        corner="setting",
        columns=tuple(names),
        rows=tuple(rows) or (Row("none", (Cell(text=MISSING),) * 2),),
    )
