"""Build tables of cost: computation and storage from the settings, update times from benchmarks."""

from collections.abc import Sequence
from typing import Any

from recall.analysis.bootstrap import Estimate
from recall.analysis.collection import Collection
from recall.analysis.labels import method_label
from recall.analysis.run_result import RunResult
from recall.report.tables.computation import added_losses, other_work, unknown_notes
from recall.report.tables.storage import storage_table, stored
from recall.report.tables.table import MISSING, Cell, Row, Table

_NO_TIMES = (
    "How long an update takes is not in the records, which hold no times so that a resumed fleet "
    "leaves the same bytes. `recall bench learner --json > DIR/learner.json` measures it, and a "
    "report of DIR shows it."
)


def cost_tables(collection: Collection, benches: Sequence[dict[str, Any]] = ()) -> list[Table]:
    """Return the tables of computation and storage for the methods in a collection."""
    runs = _examples(collection)
    if not runs:
        return []
    return [_computation(runs, benches), storage_table(runs), *map(_updates, benches)]


def _examples(collection: Collection) -> list[RunResult]:
    """Return one run of ours per method, and one per variant that stores or computes otherwise."""
    found: dict[tuple[Any, ...], RunResult] = {}
    ours = [run for run in collection.sequential.runs if run.source == "recall"]
    for run in sorted(ours, key=lambda run: bool(run.variant)):
        found.setdefault((run.method, *_computed(run), stored(run)), run)
    labels = {run.label: run for run in reversed(found.values())}
    return [labels[label] for label in collection.labels if label in labels]


def _computed(run: RunResult) -> tuple[str, str, str]:
    """Return what a run adds to the losses, its other computation and its batches, as texts."""
    return ", ".join(added_losses(run)), ", ".join(other_work(run)), _batch(run)


def _computation(runs: Sequence[RunResult], benches: Sequence[Any]) -> Table:
    rows = []
    for run in runs:
        rows.append(Row(run.label, tuple(Cell(text=each or MISSING) for each in _computed(run))))
    return Table(
        name="computation",
        title="Computation beside plain SAC",
        corner="method",
        columns=("added to the losses", "other computation", "rows in an update"),
        rows=tuple(rows),
        notes=("As the settings of the runs say.", *unknown_notes(runs, "computes")),
        advice=() if benches else (_NO_TIMES,),
        group="computation",
    )


def _batch(run: RunResult) -> str:
    new, old = run.settings.get("method.batch_size"), run.settings.get("method.old_batch_size")
    if new is None:
        return MISSING
    return (
        f"{new} new, {old} old" if run.settings.get("method.sampling") == "balanced" else str(new)
    )


def _updates(bench: dict[str, Any]) -> Table:
    """Return the table of milliseconds per update, by method and number of runs."""
    counts = sorted({row["runs"] for row in bench["rows"]})
    times = {(row["method"], row["runs"]): row["ms_per_update"] for row in bench["rows"]}
    rows = []
    for method in dict.fromkeys(row["method"] for row in bench["rows"]):
        found = [times.get((method, count)) for count in counts]
        cells = [Cell(None if time is None else Estimate(time)) for time in found]
        rows.append(Row(method_label(method), tuple(cells)))
    return Table(
        name=f"updates-{bench['device']}-{bench.get('precision', 'default')}",
        title=f"Milliseconds of an update on {bench['device']}",
        corner="method",
        columns=tuple(f"{count} {'run' if count == 1 else 'runs'}" for count in counts),
        rows=tuple(rows),
        notes=(f"`recall bench learner`, {bench.get('precision', 'default')} products.",),
        group="computation",
    )
