"""The demo: a few methods on a few tasks, in minutes on two cores.

Fleets are kept, so the same demo continues what was stopped and shows again what is finished.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from recall import api
from recall.analysis.collection import gather
from recall.config.resolve import resolve
from recall.config.spec import FleetSpec, Sequences
from recall.errors import RecallError
from recall.filming.film import film
from recall.methods import method_class
from recall.policies.policy import TRAINED
from recall.report.build import make_report
from recall.report.tables.writers import print_table
from recall.training.callbacks import Callback

ROBOT_TASKS = ("stick-pull", "push-back", "hammer")
"""The tasks that a policy of the package is filmed on."""
SINGLE = "single"  # folder of the fleet that learns every task alone


@dataclass(frozen=True)
class Plan:
    """What the demo trains, and for how long."""

    about: str
    tasks: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    preset: str
    single: bool = True  # whether each task is also learned alone, for forward transfer
    changes: Mapping[str, Any] = field(default_factory=dict)

    def spec(self, method: str, sequence: Sequences | None = None) -> FleetSpec:
        """Return the fleet of a method, on all tasks in a row unless another sequence is given."""
        changes = dict(self.changes)
        if method == "clear" and changes.get("normalise_targets"):
            changes["critic_weight"] = 0.0  # it clones no values, whose scale changes
        sequence = sequence or ",".join(self.tasks)
        return resolve(method, sequence, self.seeds, self.preset, changes=changes)


POINTWORLD = Plan(
    """\
Three tasks, one after the other. The rewards of the second are a thousand times larger than those
of the others. Fine-tuning forgets old tasks. PM (perfect memory) replays everything, and the large
rewards of an old task drown the small ones of a new task. RECALL normalises rewards per task.""",
    tasks=("point-slide", "point-rich", "point-poor"),
    methods=("fine_tuning", "perfect_memory", "recall"),
    seeds=(0, 1, 2),
    preset="quick",
    changes={"steps_per_task": 2_500},
)
ROBOTS = Plan(
    """\
A robot arm learns to press a handle and then to close a window, within minutes on two cores.
PM (perfect memory) and RECALL both replay the first task while they learn the second.""",
    tasks=("handle-press-side", "window-close"),
    methods=("perfect_memory", "recall"),
    seeds=(0,),
    preset="laptop",
    single=False,
)


def train(folder: Path, plan: Plan, callback: Callable[[], Callback], console: Console) -> None:
    """Train what is not trained yet, every fleet in a folder of its own."""
    if plan.single:
        console.print(
            f"First, {method_class('fine_tuning').label} learns each task alone, from scratch: "
            "forward transfer is measured against it.",
            soft_wrap=True,
        )
        alone = plan.spec("fine_tuning", [[task] for task in plan.tasks])
        api.run_fleet(alone, folder / SINGLE, callback())
    for method in plan.methods:
        api.run_fleet(plan.spec(method), folder / method, callback())


def show(folder: Path, plan: Plan, console: Console) -> None:
    """Print the table of what was trained, and make its figures, a page and films."""
    # All have the same preset, which need not be repeated in every label.
    labels = dict.fromkeys(run.label for run in gather(folder).runs)
    names = {label: label.replace(f", preset {plan.preset}", "") for label in labels}
    report = make_report(folder, folder / "report", names=names)
    print_table(report.tables[0], console)
    made = dict(_films(folder, plan, console))
    curves = sorted((report.folder / "figures").glob("average_success-*.png"))
    made |= {"Average success, drawn": curves[0]} if curves else {}
    made["All curves and tables, as a page"] = report.folder / "index.html"
    for what, path in made.items():
        console.print(f"{what}: [bold]{path}[/bold]", soft_wrap=True)


def _films(folder: Path, plan: Plan, console: Console) -> Iterator[tuple[str, Path]]:
    """Yield what each film shows and its path; without a way to render, say why there is none."""
    suffix = ".mp4" if shutil.which("ffmpeg") else ".gif"
    last = method_class(plan.methods[-1]).label
    try:
        made = film(folder / plan.methods[-1], out=folder / f"demo{suffix}")
        yield f"Film of {last}, when each task was just learned and at the end", made.path
        if plan.tasks != ROBOTS.tasks:
            out = folder / f"robot{suffix}"
            made = film(TRAINED, ROBOT_TASKS, out, at="final", size=(240, 180), every=4, fps=15)
            tasks = ", ".join(take.task for take in made.takes)
            yield f"Film of {tasks}, by a RECALL policy that learned ten tasks", made.path
    except RecallError as error:
        console.print(f"No film: {error}", style="yellow", soft_wrap=True)
