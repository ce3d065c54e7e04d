"""The demo: methods on tasks whose rewards differ by a factor of a thousand, in a few minutes.

All numbers of the demo are in `PLAN`. It trains three methods, or the requested ones, either on
the rewards as they are or with normalised targets for every method. In the latter case the scale
of rewards no longer matters, and the results show how well each method protects old tasks.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from recall import api
from recall.callbacks import Callback
from recall.methods import method_class
from recall.results import metrics
from recall.results.store import Results

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


@dataclass(frozen=True)
class Row:
    """The results of one method, as means over seeds."""

    method: str
    learnt: tuple[float, ...]  # success in each task at the end of its own stage
    success: tuple[float, ...]  # success in each task at the end of the sequence
    performance: float
    forgetting: float
    transfer: float


def run_demo(
    folder: Path, plan: Plan = PLAN, callback: Callable[[], Callback] = Callback
) -> list[Row]:
    """Train every method, and single tasks as a reference; return a row for each method."""
    reference = _train(folder, "fine_tuning", list(plan.tasks), "single", plan, callback)
    areas = reference_areas(reference)
    sequence = ",".join(plan.tasks)
    return [
        row_of(_train(folder, method, sequence, method, plan, callback), areas, plan.window)
        for method in plan.methods
    ]


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


def reference_areas(results: Results) -> dict[str, float]:
    """Return how well each task is learnt from scratch, as the mean area under its curves."""
    areas: dict[str, list[float]] = {}
    for curve in metrics.curves(results):
        areas.setdefault(curve.tasks[0], []).append(metrics.area(curve, 0))
    return {task: float(np.mean(values)) for task, values in areas.items()}


def row_of(results: Results, areas: dict[str, float], window: int) -> Row:
    """Return the row of one method's metrics."""
    curves = metrics.curves(results)
    references = [areas[task] for task in curves[0].tasks]
    learnt = np.mean([metrics.trained_successes(curve, window) for curve in curves], axis=0)
    success = np.mean([metrics.final_successes(curve, window) for curve in curves], axis=0)
    return Row(
        results.description["method"]["name"],
        tuple(learnt.tolist()),
        tuple(success.tolist()),
        float(np.mean([metrics.average_performance(curve, window) for curve in curves])),
        float(np.mean([metrics.forgetting(curve, window) for curve in curves])),
        float(np.mean([metrics.forward_transfer(curve, references) for curve in curves])),
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
    for row in rows:
        # For a method that learns all tasks at once, only the success at the end is meaningful.
        together = method_class(row.method)().collects == "all"
        pairs = zip(row.learnt, row.success, strict=True)
        table.add_row(
            method_class(row.method).label,
            *(f"{end:.0%}" if together else f"{100 * own:.0f}→{end:.0%}" for own, end in pairs),
            f"[bold]{row.performance:.2f}[/bold]",
            *(("", "") if together else (f"{row.forgetting:.2f}", f"{row.transfer:+.2f}")),
        )
    Console().print(table)
