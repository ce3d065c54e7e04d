"""The demo on robots: two tasks one after the other, with perfect memory and with RECALL.

It is sized for two cores (preset `laptop`). The fleets are kept, so the same command continues
what was stopped and shows again what is finished.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from recall import api
from recall.analysis.scores import Scores
from recall.config.resolve import resolve
from recall.config.spec import FleetSpec
from recall.filming.film import Film, film
from recall.methods import method_class
from recall.studies.demo import learnt_and_kept, scores_in
from recall.training.callbacks import Callback


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


def run_robots(
    folder: Path, plan: RobotPlan = PLAN, callback: Callable[[], Callback] = Callback
) -> list[Scores]:
    """Train every method in a folder of its own, as far as it is not trained yet.

    Return the scores of each, by the last evaluation of a stage alone.
    """
    fleets = [
        api.run_fleet(plan.spec(method), folder / method, callback()) for method in plan.methods
    ]
    return [scores_in(fleet.folder, window=1) for fleet in fleets]


def make_film(folder: Path, plan: RobotPlan = PLAN) -> Film:
    """Film every task, when it was just learnt and at the end."""
    return film(folder / plan.filmed, out=folder / "robots.mp4")


def print_table(found: list[Scores], plan: RobotPlan = PLAN) -> None:
    """Print the scores as a table."""
    seeds = "one seed" if len(plan.seeds) == 1 else f"mean of {len(plan.seeds)} seeds"
    table = Table(title=f"success just learnt and at the end, {seeds}", box=box.SIMPLE_HEAD)
    table.add_column("method", no_wrap=True)
    for heading in (*plan.tasks, "average"):
        table.add_column(heading, justify="right")
    for scores in found:
        performance = f"[bold]{scores.performance.value:.2f}[/bold]"
        table.add_row(method_class(scores.method).label, *learnt_and_kept(scores), performance)
    Console().print(table)
