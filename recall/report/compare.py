"""Compare two folders of runs: settings that differ, metrics, and curves on one another."""

import dataclasses
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from rich.console import Console

from recall.analysis.collection import Collection, gather
from recall.analysis.estimates import shared_seeds, shared_sequences
from recall.analysis.frames import Analysis, analyse, select
from recall.analysis.labels import grouped, method_label
from recall.analysis.measures import METRICS, TITLES, Measure, check_success
from recall.errors import BadValueError
from recall.files.names import file_name
from recall.files.paths import given_path, given_paths
from recall.report.build import Folder, Report, write_report
from recall.report.tables.notes import budget_notes, transfer_facts, transfer_note
from recall.report.tables.pivot import cell, difference_cell
from recall.report.tables.sequences import return_tables
from recall.report.tables.single import single_tables
from recall.report.tables.table import MISSING, Cell, Row, Table, trimmed
from recall.runs.wording import counted

_KINDS = ("average_success", "current_task", "seeds", "task_curves")


class Match(NamedTuple):
    """A label of the first and one of the second folder, and the sequences that both have."""

    first: str
    second: str
    sequences: list[str]


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

    Runs of the same method on the same sequence are compared. Differences are second minus first,
    seed by seed for the seeds that both have. Forward transfer compares with single-task runs of
    either folder or below `reference`, or else with those shipped with the package, as in
    `recall.make_report`; where there are none, a note says so.
    """
    measure = Measure() if measure is None else measure
    check_success(measure)
    folders = given_path(first, "first"), given_path(second, "second")
    out, others = given_path(out, "out"), given_paths(reference, "reference")
    sides = gather(folders[0]), gather(folders[1])
    for side, folder in zip(sides, folders, strict=True):
        if not side.runs:
            raise BadValueError(f"{folder} has no runs to compare: {' '.join(side.problems)}")
    matches, left_out = _matches(*sides)
    if not matches:
        raise _nothing_in_common(sides, folders)
    names = _names(*folders)
    runs = [
        dataclasses.replace(run, label=f"{name}: {run.label}", variant="")
        for place, (name, side) in enumerate(zip(names, sides, strict=True))
        for run in side.runs
        if any(run.label == match[place] and run.sequence in match.sequences for match in matches)
    ]
    alone = gather((), [*folders, *others])
    problems = [problem for each in (*sides, alone) for problem in each.problems] + left_out
    collection = Collection(tuple(runs), tuple(dict.fromkeys(problems)), alone.reference_runs)
    analysis = analyse(collection, measure)
    measured = [
        *_metric_tables(analysis, matches, names),
        # Tasks without success, and tasks alone, have no metrics: both folders stand in one table.
        *return_tables(analysis),
        *single_tables(analysis),
    ]
    tables = [_settings_table(sides, matches, names), *map(trimmed, measured)]
    title = f"{names[0]} and {names[1]}"
    return write_report(analysis, tables, out, title, _KINDS if figures else (), console)


def _names(first: Path, second: Path) -> tuple[str, str]:
    """Return a short name for each folder; their paths if the last parts are equal."""
    if first.resolve().name != second.resolve().name:
        return first.resolve().name, second.resolve().name
    return str(first), str(second)


def _matches(*sides: Collection) -> tuple[list[Match], list[str]]:
    """Return the labels that are compared, and sentences about what only one side has.

    A method's runs are compared with those of the same label, or with the other side's only ones.
    """
    matches, left_out = [], []
    sequences = [
        {
            label: [*grouped(runs, lambda run: run.sequence)]
            for label, runs in side.by_label().items()
        }
        for side in sides
    ]
    first, second = (
        {
            method: [*grouped(runs, lambda run: run.label)]
            for method, runs in grouped(side.runs, lambda run: run.method).items()
        }
        for side in sides
    )
    for method in [name for name in first if name in second]:
        here, there = first[method], second[method]
        alone = len(here) == len(there) == 1
        pairs = [(here[0], there[0])] if alone else [(name, name) for name in here if name in there]
        for one, other in pairs:
            if shared := [each for each in sequences[0][one] if each in sequences[1][other]]:
                matches.append(Match(one, other, shared))
        if not pairs:
            left_out.append(
                f"{method_label(method)} has several variants in a folder and none in common: left "
                "out. Name the folder of one variant."
            )
    for side, other_side, where in (
        (sides[0], sides[1], "second"), (sides[1], sides[0], "first")
    ):  # fmt: skip
        if missing := [name for name in side.sequences if name not in other_side.sequences]:
            left_out.append(f"Not in the {where} folder: {', '.join(missing)}.")
    return matches, left_out


def _nothing_in_common(sides: Sequence[Collection], folders: Sequence[Path]) -> BadValueError:
    first, second = (
        f"{folder} has {', '.join(side.labels)} on {', '.join(side.sequences)}"
        for folder, side in zip(folders, sides, strict=True)
    )
    report = shlex.join(["recall", "report", *map(str, folders)])
    return BadValueError(
        f"{first} and {second}: only runs of the same method on the same sequence are compared. "
        f"`{report}` shows both"
    )


def _settings_table(
    sides: Sequence[Collection], matches: Sequence[Match], names: Sequence[str]
) -> Table:
    """Return the table of the settings that differ between the folders."""
    rows: dict[tuple[str, ...], Row] = {}
    for match in matches:
        one, other = (
            side.by_label()[label][0]
            for side, label in zip(sides, (match.first, match.second), strict=True)
        )
        for name in dict.fromkeys([*one.settings, *other.settings]):
            values = _value(name, one.settings), _value(name, other.settings)
            if values[0] != values[1]:
                heading = f"{one.method}: {name}"
                cells = tuple(Cell(text=value) for value in values)
                rows.setdefault((heading, *values), Row(heading, cells))
    none = Row("none", (Cell(text=MISSING), Cell(text=MISSING)))
    return Table(
        name="settings",
        title="Settings that differ",
        corner="setting",
        columns=tuple(names),
        rows=tuple(rows.values()) or (none,),
        group="settings",
    )


def _value(name: str, settings: Mapping[str, Any]) -> str:
    value = settings.get(name, MISSING)
    return "x".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _metric_tables(
    analysis: Analysis, matches: Sequence[Match], names: Sequence[str]
) -> list[Table]:
    """Return a table for each match over all of its sequences, if several, and for each of them."""
    tables = []
    for match in matches:
        found = [
            select(analysis.scores, label=f"{name}: {label}")
            for name, label in zip(names, (match.first, match.second), strict=True)
        ]
        scored = shared_sequences(found)
        for sequences in ([scored] if len(scored) > 1 else []) + [[name] for name in scored]:
            sides = [select(rows, sequence=sequences) for rows in found]
            tables.append(_metric_table(analysis, sides, match, sequences, names))
    return tables


def _metric_table(
    analysis: Analysis,
    sides: Sequence[pd.DataFrame],
    match: Match,
    sequences: Sequence[str],
    names: Sequence[str],
) -> Table:
    """Return the metrics of both sides, as means over the sequences, and their differences."""
    rows = []
    for metric in METRICS:
        cells = [cell(side, metric) for side in sides]
        if any(each.ours is not None for each in cells):
            ahead = difference_cell(sides[1], sides[0], metric)
            rows.append(Row(TITLES[metric], (*cells, ahead)))
    where = sequences[0] if len(sequences) == 1 else f"{len(sequences)} sequences"
    labels = dict.fromkeys((match.first, match.second))
    kind = sequences[0] if len(sequences) == 1 else "all"
    both = pd.concat(sides)
    return Table(
        name=file_name(f"compare-{'-'.join(labels)}-{kind}".lower()),
        title=f"{' and '.join(labels)} on {where}",
        corner="metric",
        columns=(*names, "difference"),
        rows=tuple(rows),
        notes=(
            *budget_notes(both),
            *transfer_facts(analysis, both),
            f"The difference is {names[1]} minus {names[0]}, over "
            f"{counted(shared_seeds(*sides), 'shared seed')}, with Student's t intervals.",
        ),
        advice=transfer_note(analysis, both),
        group=kind,
    )
