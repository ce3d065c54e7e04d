"""Build the table of stored transitions: the settings and the method say how many there are."""

from collections.abc import Sequence

from recall.analysis.run_result import RunResult
from recall.replay.history import rows_held
from recall.report import paper
from recall.report.tables.computation import UNKNOWN, method_of, unknown_notes
from recall.report.tables.table import MISSING, Cell, Row, Table


def storage_table(runs: Sequence[RunResult]) -> Table:
    """Return the table of the transitions that each run stores, beside the paper's."""
    rows = []
    for run in runs:
        new, old = stored(run)
        theirs = paper.storage(run.method) or (MISSING, MISSING)
        ours = [MISSING if new is None else f"{new:,}", _of_old(old, len(run.tasks))]
        words = [text or MISSING for text in theirs]
        rows.append(Row(run.label, tuple(Cell(text=text) for text in (*ours, *words))))
    unsaid = [run for run in runs if stored(run)[1] == UNKNOWN]
    return Table(
        name="storage",
        title="Transitions stored",
        corner="method",
        columns=("of the current task", "of old tasks", "the paper's D_new", "the paper's D_old"),
        rows=tuple(rows),
        notes=(
            "N is the number of tasks. Ours is what a run of these settings holds in the end.",
            *unknown_notes(unsaid, "stores"),
        ),
        group="storage",
    )


def _of_old(old: int | str | None, tasks: int) -> str:
    if isinstance(old, str):
        return old or MISSING
    return f"{old:,} (N = {tasks})" if old else MISSING


def stored(run: RunResult) -> tuple[int | None, int | str | None]:
    """Return the stored transitions of the current and of old tasks; None if no settings say it.

    Those of old tasks may be words of the method. A method that is not known may keep transitions
    of its own beside replay, so that nothing in replay does not mean nothing.
    """
    capacity = run.settings.get("schedule.replay_capacity")
    if capacity is None or "method.memory_per_task" not in run.settings:
        return None, None
    new, each = rows_held(capacity, run.steps_per_task, run.settings["method.memory_per_task"])
    method = method_of(run)
    if method is None:
        return new, (len(run.tasks) - 1) * each or UNKNOWN
    return new, (len(run.tasks) - 1) * each
