"""Compare two folders of runs: settings and code that differ, metrics, and curves together."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from rich.console import Console

from recall.analysis.collection import Collection, gather
from recall.analysis.differences import shared_seeds
from recall.analysis.measures import METRICS, TITLES, TRANSFER, Measure, check_success
from recall.analysis.plugin_code import code_between
from recall.analysis.run_result import RunResult
from recall.analysis.scores import ScoreBoard, Scores
from recall.errors import BadValueError
from recall.files.given import given_path, given_paths
from recall.files.names import file_name
from recall.report.build import Folder, Report, write_report
from recall.report.matching import Match, matches_of, nothing_in_common
from recall.report.tables.alone import single_tables
from recall.report.tables.cells import budget_notes, difference_cell, mean_cell
from recall.report.tables.pairwise import OF_INTERVALS
from recall.report.tables.returns import return_tables
from recall.report.tables.table import MISSING, Cell, Row, Table
from recall.report.tables.transfer_notes import transfer_facts, transfer_note
from recall.runs.wording import counted

_Pair = tuple[Scores, Scores]  # of the first and of the second folder, on one sequence
_KINDS = ("average_success", "current_task", "seeds", "task_curves", "profiles")


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
    alone = gather((), [*folders, *others])
    for side, folder in zip(sides, folders, strict=True):
        if not side.runs:
            raise BadValueError(f"{folder} has no runs to compare: {' '.join(side.problems)}")
    names = _names(*folders)
    matches, left_out = matches_of(*sides)
    if not matches:
        raise BadValueError(nothing_in_common(sides, folders, left_out))
    marked = [
        tuple(_marked(run, name) for run in dict.fromkeys(chain.from_iterable(map(runs, matches))))
        for name, runs in zip(names, (lambda m: m.first, lambda m: m.second), strict=True)
    ]
    found = [problem for each in (*sides, alone) for problem in each.problems]
    problems = tuple(dict.fromkeys([*found, *left_out]))
    board = ScoreBoard(Collection(marked[0] + marked[1], problems, alone.reference_runs), measure)
    tables = [
        *_settings_tables(matches, names),
        *_metric_tables(board, matches, names),
        # Tasks without success, and tasks alone, have no metrics: both folders stand in one table.
        *return_tables(board),
        *single_tables(board),
    ]
    kinds = _KINDS if figures else ()
    return write_report(board, tables, out, f"{names[0]} and {names[1]}", kinds, console)


def _names(first: Path, second: Path) -> tuple[str, str]:
    """Return a short name for each folder; their paths if the last parts are equal."""
    if first.resolve().name != second.resolve().name:
        return first.resolve().name, second.resolve().name
    return str(first), str(second)


def _marked(run: RunResult, name: str) -> RunResult:
    """Return the run with the folder in its label; it is no variant of the other one."""
    return dataclasses.replace(run, label=f"{name}: {run.label}", variant="")


def _settings_tables(matches: Sequence[Match], names: Sequence[str]) -> list[Table]:
    """Return the table of settings, and of code of plug-ins, that differ between the folders."""
    rows: dict[tuple[str, ...], Row] = {}
    for match in matches:
        for name, values in (*_settings(match), *_code(match)):
            if values[0] != values[1]:
                heading = f"{match.first[0].method}: {name}"
                cells = tuple(Cell(text=value) for value in values)
                rows.setdefault((heading, *values), Row(heading, cells))
    if not rows:
        rows["",] = Row("none", (Cell(text=MISSING), Cell(text=MISSING)))
    return [
        Table(
            name="settings",
            title="Settings that differ",
            corner="setting",
            columns=tuple(names),
            rows=tuple(rows.values()),
            group="settings",
        )
    ]


def _settings(match: Match) -> Iterator[tuple[str, list[str]]]:
    """Yield every setting of the matched runs, and its value on either side."""
    settings = [match.first[0].settings, match.second[0].settings]
    for name in dict.fromkeys([*settings[0], *settings[1]]):
        yield name, [_value(name, each) for each in settings]


def _code(match: Match) -> Iterator[tuple[str, list[str]]]:
    """Yield every plug-in in which the matched runs differ, and its code on either side."""
    for name, codes in code_between(match.first, match.second):
        yield f"plug-in {name}", [code or MISSING for code in codes]


def _value(name: str, settings: Mapping[str, Any]) -> str:
    if name not in settings:
        return MISSING
    value = settings[name]
    return "x".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _metric_tables(
    board: ScoreBoard, matches: Sequence[Match], names: Sequence[str]
) -> list[Table]:
    """Return a table for each method over all of its sequences, if several, and for each match."""
    by_labels: dict[tuple[str, str], list[_Pair]] = {}
    for match in matches:
        labels = match.first[0].label, match.second[0].label
        found = [
            board.get(f"{name}: {label}", match.sequence)
            for name, label in zip(names, labels, strict=True)
        ]
        if found[0] is not None and found[1] is not None:
            by_labels.setdefault(labels, []).append((found[0], found[1]))
    every = [pairs for pairs in by_labels.values() if len(pairs) > 1]
    single = [[pair] for pairs in by_labels.values() for pair in pairs]
    return [_metric_table(pairs, names) for pairs in (*every, *single)]


def _has(scores: Sequence[Scores], metric: str) -> bool:
    """Return True if there is a mean of a metric over all these sequences."""
    return all(each.metric(metric) is not None for each in scores)


def _metric_table(pairs: Sequence[_Pair], names: Sequence[str]) -> Table:
    """Return the metrics of both sides, as means over the sequences of `pairs`, and differences."""
    sides: list[list[Scores]] = [list(side) for side in zip(*pairs, strict=True)]
    both = [*sides[0], *sides[1]]
    having = {metric: [side for side in sides if _has(side, metric)] for metric in METRICS}
    backwards = [(second, first) for first, second in pairs]
    rows = [
        Row(
            TITLES[metric],
            (*(mean_cell(side, metric) for side in sides), difference_cell(backwards, metric)),
        )
        for metric in METRICS
        if having[metric]
    ]
    where = sides[0][0].sequence if len(pairs) == 1 else f"{len(pairs)} sequences"
    labels = dict.fromkeys(
        side[0].label.removeprefix(f"{name}: ") for side, name in zip(sides, names, strict=True)
    )
    shared = counted(min(shared_seeds(*pair) for pair in pairs), "shared seed")
    kind = sides[0][0].sequence if len(pairs) == 1 else "all"
    return Table(
        name=file_name(f"compare-{'-'.join(labels)}-{kind}".lower()),
        title=f"{' and '.join(labels)} on {where}",
        corner="metric",
        columns=(*names, "difference"),
        rows=tuple(rows),
        notes=(
            *budget_notes(both),
            *transfer_facts(each for side in having[TRANSFER] for each in side),
            f"The difference is {names[1]} minus {names[0]}, over {shared}. {OF_INTERVALS}",
        ),
        advice=transfer_note(both),
        group=kind,
    )
