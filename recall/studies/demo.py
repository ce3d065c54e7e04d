"""The demo: a few methods on a few tasks, in minutes on two cores.

All numbers are in the plans. `POINTWORLD` has tasks whose rewards differ by a factor of a thousand;
with normalised targets for every method, this no longer matters, and the results show how well each
method protects old tasks. `ROBOTS` has two robot tasks. Fleets are kept, so the same demo continues
what was stopped and shows again what is finished.
"""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table

from recall import api
from recall.analysis import metrics
from recall.analysis.collection import gather
from recall.analysis.estimates import estimate
from recall.analysis.frames import analyse, list_of, matrix
from recall.analysis.measures import FORGETTING, PERFORMANCE, Measure
from recall.analysis.run_result import is_multi_task
from recall.config.resolve import resolve
from recall.config.spec import FleetSpec, Sequences
from recall.errors import BadValueError
from recall.filming.film import Film, film
from recall.methods import method_class
from recall.training.callbacks import Callback

SINGLE = "single"  # folder of the fleet that learns every task alone


@dataclass(frozen=True)
class Plan:
    """What the demo trains, and for how long."""

    tasks: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    preset: str
    single: bool = True  # whether each task is also learned alone, for forward transfer
    changes: Mapping[str, Any] = field(default_factory=dict)
    of_methods: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def normalised(self) -> bool:
        """Return True if PopArt is on for every method."""
        return bool(self.changes.get("normalise_targets", False))

    def spec(self, method: str, sequence: Sequences | None = None) -> FleetSpec:
        """Return the fleet of a method, on all tasks in a row unless another sequence is given."""
        changes = {**self.changes, **self.of_methods.get(method, {})}
        sequence = sequence or ",".join(self.tasks)
        return resolve(method, sequence, self.seeds, self.preset, changes=changes)


POINTWORLD = Plan(
    tasks=("point-slide", "point-rich", "point-poor"),
    methods=("fine_tuning", "perfect_memory", "recall"),
    seeds=(0, 1, 2),
    preset="quick",
    changes={"steps_per_task": 2_500},
)
ROBOTS = Plan(
    tasks=("handle-press-side", "window-close"),
    methods=("perfect_memory", "recall"),
    seeds=(0,),
    preset="laptop",
    single=False,
)


def with_normalised_targets(plan: Plan) -> Plan:
    """Return the plan with PopArt for every method.

    CLEAR then clones no values, because their scale changes.
    """
    changes = {**plan.changes, "normalise_targets": True}
    return replace(plan, changes=changes, of_methods={"clear": {"critic_weight": 0.0}})


class Row(NamedTuple):
    """The scores of one method."""

    scores: pd.DataFrame
    transfer: float | None = None  # None without single-task runs, or if tasks are learned at once


def run_demo(
    folder: Path, plan: Plan, callback: Callable[[], Callback], tell: Callable[[str], None] = print
) -> list[Row]:
    """Train what is not trained yet, a fleet in a folder of its own; return a row per method."""
    single = None
    if plan.single:
        tell(
            f"First, {method_class('fine_tuning').label} learns each task alone, from scratch: "
            "forward transfer is measured against it."
        )
        single = folder / SINGLE
        alone = [[task] for task in plan.tasks]
        api.run_fleet(plan.spec("fine_tuning", alone), single, callback())
    for method in plan.methods:
        api.run_fleet(plan.spec(method), folder / method, callback())
    return [row_of(folder / method, single) for method in plan.methods]


def row_of(folder: Path, single: Path | None = None) -> Row:
    """Return the row of the fleet in `folder`, with single-task runs to compare with.

    Reports compare with plain SAC alone. Here targets are normalised in both or in neither.
    """
    scores = analyse(gather(folder), Measure(window=1)).scores
    if scores.empty:
        raise BadValueError(f"{folder} has no run that was trained to its end: nothing to show")
    if single is None or is_multi_task(scores["method"].iloc[0]):
        return Row(scores)
    areas: dict[str, list[float]] = {}
    for run in gather(single).runs:
        areas.setdefault(run.tasks[0], []).append(metrics.area(run.curve(), 0))
    reference = np.array([np.mean(areas[task]) for task in list_of(scores, "task")])
    return Row(scores, float(metrics.forward_transfer(matrix(scores, "area"), reference).mean()))


def make_film(folder: Path, plan: Plan) -> Film:
    """Film every task as the last method plays it, when it was just learned and at the end."""
    name = "demo.mp4" if shutil.which("ffmpeg") else "demo.gif"
    return film(folder / plan.methods[-1], out=folder / name)


def print_table(rows: list[Row], plan: Plan) -> None:
    """Print the rows as a table."""
    seeds = "one seed" if len(plan.seeds) == 1 else f"mean of {len(plan.seeds)} seeds"
    title = f"success just learned and at the end, {seeds}"
    table = Table(
        title=f"{title}, targets normalised" if plan.normalised else title,
        caption="forward transfer: against learning each task alone, from scratch"
        if plan.single
        else None,
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),  # fits 80 columns
    )
    table.add_column("method", no_wrap=True)
    tasks = [task.removeprefix("point-") for task in plan.tasks]
    transfer = ["forward\ntransfer"] if plan.single else []
    for heading in (*tasks, "average\nperformance", "forgetting", *transfer):
        table.add_column(heading, justify="right")
    for row in rows:
        ended, lost = (estimate(row.scores, metric) for metric in (PERFORMANCE, FORGETTING))
        cells = [
            *_successes(row.scores),
            "" if ended is None else f"[bold]{ended.value:.2f}[/bold]",
            "" if lost is None else f"{lost.value:.2f}",
        ]
        if plan.single:
            cells.append("" if row.transfer is None else f"{row.transfer:+.2f}")
        table.add_row(method_class(row.scores["method"].iloc[0]).label, *cells)
    Console().print(table)


def _successes(scores: pd.DataFrame) -> list[str]:
    """Return the mean success in each task when it was just learned and at the end, as text.

    For a method that learns all tasks at once, only the success at the end is meaningful.
    """
    means = scores.groupby("position")[["trained", "final"]].mean().to_numpy().tolist()
    return [
        f"{end:.0%}" if np.isnan(learned) else f"{100 * learned:.0f}→{end:.0%}"
        for learned, end in means
    ]
