"""Tables of the board: one for every protocol, with all methods that were run by it.

A protocol is a sequence, or sequences of one family, with a world and the steps per task.
"""

from collections.abc import Sequence
from dataclasses import replace

from recall.analysis.frames import Analysis, analyse, list_of, select
from recall.analysis.labels import display_name, family_of, family_title, grouped, labelled
from recall.analysis.run_result import RunResult
from recall.files.names import file_name
from recall.report.tables.pivot import Cell, Row, Table, label_keys, metric_keys, pivot_table
from recall.runs.wording import few

_MOST_NAMED = 3


def protocol_tables(analysis: Analysis, origin: bool = True) -> list[Table]:
    """Return a table of the methods of each protocol, sorted by average performance.

    `origin` adds a column with their folders.
    """
    tables, collection = [], analysis.collection
    by_protocol = grouped(
        collection.sequential.runs,
        lambda run: (family_of(run.sequence), run.world, run.steps_per_task),
    )
    for runs in by_protocol.values():
        here = analyse(replace(collection, runs=tuple(labelled(runs))), analysis.measure)
        # Means over some sequences of a family are compared with means over the same ones alone.
        covered = {
            tuple(list_of(part.sort_values("sequence"), "sequence")): None
            for _, part in here.scores.groupby("label", sort=False)
        }
        by_size = sorted(covered, key=len, reverse=True)
        tables += [_of_protocol(here, sequences, origin) for sequences in by_size]
    return tables


def _of_protocol(analysis: Analysis, sequences: Sequence[str], origin: bool) -> Table:
    """Return the table of the methods that were run on all these sequences."""
    scores = select(analysis.scores, sequence=list(sequences))
    title = _title(scores["run"].iloc[0], sequences)
    table = pivot_table(
        analysis,
        scores,
        label_keys(analysis, list_of(scores, "label")),
        [key._replace(where={"sequence": list(sequences)}) for key in metric_keys(scores)],
        name=file_name(title.lower()),
        title=title,
    )

    def order(row: Row) -> float:
        found = row.cells[0].estimate
        return -found.value if found else float("inf")

    rows = []
    for row in sorted(table.rows, key=order):
        runs = list_of(select(scores, label=row.heading), "run")
        folders = dict.fromkeys(str(run.folder) for run in runs)
        added = [f"{row.cells[0].runs}", few(folders, _MOST_NAMED)][: 1 + origin]
        rows.append(row._replace(cells=(*row.cells, *(Cell(text=text) for text in added))))
    columns = (*table.columns, *("runs", "origin")[: 1 + origin])
    # The first note counts the runs and steps.
    return replace(table, columns=columns, rows=tuple(rows), notes=table.notes[1:])


def _title(run: RunResult, sequences: Sequence[str]) -> str:
    """Return a protocol in words."""
    where = display_name(run.sequence, run.tasks)
    if len(sequences) > 1:
        named = f"{len(sequences)} sequences ({few(sequences, _MOST_NAMED)})"
        where = f"{family_title(family_of(run.sequence))}, {named}"
    words = [
        f"{name.partition('.')[2].replace('_', ' ')} {value}"
        for name, value in run.settings.items()
        if name.startswith("world.") and value is not None
    ]
    return ": ".join([where, ", ".join([*words, f"{run.steps_per_task:,} steps per task"])])
