"""The demo on robots: two tasks one after the other, with perfect memory and with RECALL.

It is sized for two cores (preset `laptop`). The fleets are kept, so the same command continues
what was stopped and shows again what is finished.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from recall import api
from recall.callbacks import Callback
from recall.config.resolve import resolve
from recall.config.spec import FleetSpec
from recall.filming.film import Film, film
from recall.methods import method_class
from recall.results import metrics
from recall.results.store import Results


@dataclass(frozen=True)
class RobotPlan:
    """What the demo trains."""

    tasks: tuple[str, ...] = ("handle-press-side", "window-close")
    methods: tuple[str, ...] = ("perfect_memory", "recall")
    seeds: tuple[int, ...] = (0,)
    preset: str = "laptop"
    filmed: str = "recall"
    changes: Mapping[str, Any] = field(default_factory=dict)

    def spec(self, method: str) -> FleetSpec:
        """Return the fleet of one method."""
        return resolve(method, ",".join(self.tasks), self.seeds, self.preset, changes=self.changes)


PLAN = RobotPlan()


@dataclass(frozen=True)
class RobotRow:
    """The success of one method in every task, as means over seeds."""

    method: str
    learnt: tuple[float, ...]  # when the task was just learnt
    success: tuple[float, ...]  # at the end


def run_robots(
    folder: Path, plan: RobotPlan = PLAN, callback: Callable[[], Callback] = Callback
) -> list[RobotRow]:
    """Train every method in a folder of its own, as far as it is not trained yet."""
    return [
        row_of(api.run_fleet(plan.spec(method), folder / method, callback()))
        for method in plan.methods
    ]


def row_of(results: Results) -> RobotRow:
    """Return the row of one method: the success in the last evaluation of a stage and of all."""
    curves = metrics.curves(results)
    learnt = np.mean([metrics.trained_successes(curve, 1) for curve in curves], axis=0)
    success = np.mean([metrics.final_successes(curve, 1) for curve in curves], axis=0)
    name = results.description["method"]["name"]
    return RobotRow(name, tuple(learnt.tolist()), tuple(success.tolist()))


def make_film(folder: Path, plan: RobotPlan = PLAN) -> Film:
    """Film every task, when it was just learnt and at the end."""
    return film(folder / plan.filmed, out=folder / "robots.mp4")


def print_table(rows: list[RobotRow], plan: RobotPlan = PLAN) -> None:
    """Print the rows as a table."""
    seeds = "one seed" if len(plan.seeds) == 1 else f"mean of {len(plan.seeds)} seeds"
    table = Table(title=f"success just learnt and at the end, {seeds}", box=box.SIMPLE_HEAD)
    table.add_column("method", no_wrap=True)
    for heading in (*plan.tasks, "average"):
        table.add_column(heading, justify="right")
    for row in rows:
        pairs = zip(row.learnt, row.success, strict=True)
        table.add_row(
            method_class(row.method).label,
            *(f"{100 * own:.0f}→{end:.0%}" for own, end in pairs),
            f"[bold]{np.mean(row.success):.2f}[/bold]",
        )
    Console().print(table)
