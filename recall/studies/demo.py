"""The demo: methods on tasks whose rewards differ by a factor of a thousand, in a few minutes.

All numbers of the demo are in `PLAN`. It trains three methods, or the requested ones, either on
the rewards as they are or with normalised targets for every method. In the latter case the scale
of rewards no longer matters, and the results show how well each method protects old tasks.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from recall import api
from recall.analysis import metrics
from recall.analysis.collection import gather
from recall.analysis.measures import Measure
from recall.analysis.scores import ScoreBoard, Scores
from recall.analysis.together import learnt_together
from recall.errors import BadValueError
from recall.methods import method_class
from recall.runs.store import Results
from recall.training.callbacks import Callback

NEXT = "recall train --sequence handle-press-side,window-close --steps-per-task 100000"


@dataclass(frozen=True)
class Plan:
    """What the demo trains, and for how long."""

    tasks: tuple[str, ...] = ("point-slide", "point-rich", "point-poor")
    methods: tuple[str, ...] = ("fine_tuning", "perfect_memory", "recall")
    seeds: tuple[int, ...] = (0, 1, 2)
    preset: str = "quick"
    window: int = 1  # evaluations averaged for the success at the end of a stage
    changes: dict[str, Any] = field(default_factory=lambda: {"steps_per_task": 2_500})
    of_methods: dict[str, dict[str, Any]] = field(default_factory=dict)  # changes by method

    @property
    def normalised(self) -> bool:
        """Return True if PopArt is on for every method."""
        return bool(self.changes.get("normalise_targets", False))


PLAN = Plan()


def with_normalised_targets(plan: Plan) -> Plan:
    """Return the plan with PopArt for every method.

    CLEAR then clones no values, because their scale changes.
    """
    changes = plan.changes | {"normalise_targets": True}
    return replace(plan, changes=changes, of_methods={"clear": {"critic_weight": 0.0}})


class Row(NamedTuple):
    """The scores of one method."""

    scores: Scores
    transfer: float | None  # None if all tasks are learnt at once


def run_demo(
    folder: Path, plan: Plan = PLAN, callback: Callable[[], Callback] = Callback
) -> list[Row]:
    """Train every method, and single tasks as a reference; return a row for each method."""
    single = _train(folder, "fine_tuning", list(plan.tasks), "single", plan, callback)
    sequence = ",".join(plan.tasks)
    fleets = [_train(folder, method, sequence, method, plan, callback) for method in plan.methods]
    return [row_of(fleet.folder, single.folder, plan.window) for fleet in fleets]


def row_of(folder: Path, single: Path, window: int) -> Row:
    """Return the row of the fleet in `folder`, with single-task runs to compare with.

    Reports compare with plain SAC alone. Here targets are normalised in both or in neither.
    """
    scores = scores_in(folder, window)
    if learnt_together(scores.method):
        return Row(scores, None)
    areas: dict[str, list[float]] = {}
    for run in gather(single).runs:
        areas.setdefault(run.tasks[0], []).append(metrics.area(run.curve(), 0))
    reference = np.array([np.mean(areas[task]) for task in scores.tasks])
    return Row(scores, float(metrics.forward_transfer(scores.areas, reference).mean()))


def scores_in(folder: Path, window: int) -> Scores:
    """Return the scores of the fleet in `folder`."""
    found = list(ScoreBoard(gather(folder), Measure(window)).scores.values())
    if not found:
        raise BadValueError(f"{folder} has no run that was trained to its end: nothing to show")
    return found[0]


def learnt_and_kept(scores: Scores) -> list[str]:
    """Return the mean success in each task when it was just learnt and at the end, as text.

    For a method that learns all tasks at once, only the success at the end is meaningful.
    """
    pairs = zip(scores.trained.mean(axis=0), scores.final.mean(axis=0), strict=True)
    if learnt_together(scores.method):
        return [f"{end:.0%}" for _, end in pairs]
    return [f"{100 * own:.0f}→{end:.0%}" for own, end in pairs]


def _train(
    folder: Path,
    method: str,
    sequence: Any,
    name: str,
    plan: Plan,
    callback: Callable[[], Callback],
) -> Results:
    return api.train(
        method,
        sequence,
        plan.seeds,
        folder / name,
        preset=plan.preset,
        callback=callback(),
        **plan.changes,
        **plan.of_methods.get(method, {}),
    )


def print_table(rows: list[Row], plan: Plan = PLAN) -> None:
    """Print the rows as a table."""
    title = f"success just learnt and at the end, mean of {len(plan.seeds)} seeds"
    table = Table(
        title=f"{title}, targets normalised" if plan.normalised else title,
        caption="forward transfer: against learning each task alone, from scratch",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),  # fits 80 columns
    )
    table.add_column("method", no_wrap=True)
    tasks = [task.removeprefix("point-") for task in plan.tasks]
    for heading in (*tasks, "average\nperformance", "forgetting", "forward\ntransfer"):
        table.add_column(heading, justify="right")
    for scores, transfer in rows:
        lost = scores.forgetting
        table.add_row(
            method_class(scores.method).label,
            *learnt_and_kept(scores),
            f"[bold]{scores.performance.value:.2f}[/bold]",
            "" if lost is None else f"{lost.value:.2f}",
            "" if transfer is None else f"{transfer:+.2f}",
        )
    Console().print(table)
