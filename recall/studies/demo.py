"""The paper's point in a few minutes: methods on tasks that pay a thousand times apart.

Every number of the demo stands in `PLAN`. It trains three methods, or those that are asked for,
on rewards as they are or with everybody's targets normalised: then scale is out of the way, and
what is left is how each method protects old tasks.
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
    """What the demo trains, and how much."""

    tasks: tuple[str, ...] = ("point-slide", "point-rich", "point-poor")
    methods: tuple[str, ...] = ("fine_tuning", "perfect_memory", "recall")
    seeds: tuple[int, ...] = (0, 1, 2)
    preset: str = "quick"
    window: int = 1  # evaluations that success at the end of a stage is the mean of
    changes: dict[str, Any] = field(default_factory=lambda: {"steps_per_task": 2_500})
    of_methods: dict[str, dict[str, Any]] = field(default_factory=dict)  # changes of one alone

    @property
    def normalised(self) -> bool:
        """Whether PopArt is on for every method."""
        return bool(self.changes.get("normalise_targets", False))


PLAN = Plan()


def with_normalised_targets(plan: Plan) -> Plan:
    """The same for everybody with PopArt. CLEAR then clones no values: their scale moves."""
    changes = plan.changes | {"normalise_targets": True}
    return replace(plan, changes=changes, of_methods={"clear": {"critic_weight": 0.0}})


@dataclass(frozen=True)
class Row:
    """One method's mean over seeds."""

    method: str
    learnt: tuple[float, ...]  # success in each task at the end of its own stage
    success: tuple[float, ...]  # the same at the end of all
    performance: float
    forgetting: float
    transfer: float


def run_demo(
    folder: Path, plan: Plan = PLAN, callback: Callable[[], Callback] = Callback
) -> list[Row]:
    """Train every method, and single tasks to compare their learning with; a row per method."""
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
    """By task, how well it is learnt from scratch: the mean area under the curves."""
    areas: dict[str, list[float]] = {}
    for curve in metrics.curves(results):
        areas.setdefault(curve.tasks[0], []).append(metrics.area(curve, 0))
    return {task: float(np.mean(values)) for task, values in areas.items()}


def row_of(results: Results, areas: dict[str, float], window: int) -> Row:
    """The metrics of one method."""
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
    """As a person reads it."""
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
        # Learning all tasks at once has no task just learnt, nothing to forget or to transfer.
        together = method_class(row.method)().collects == "all"
        pairs = zip(row.learnt, row.success, strict=True)
        table.add_row(
            method_class(row.method).label,
            *(f"{end:.0%}" if together else f"{100 * own:.0f}→{end:.0%}" for own, end in pairs),
            f"[bold]{row.performance:.2f}[/bold]",
            *(("", "") if together else (f"{row.forgetting:.2f}", f"{row.transfer:+.2f}")),
        )
    Console().print(table)
