"""`recall demo`: a demonstration of the paper's main result in a few minutes."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from tyro.conf import arg

from recall.commands.show import Flag

Out = Annotated[Path | None, arg(help="Folder to keep the fleets in. None: nothing is kept.")]
Methods = Annotated[
    tuple[str, ...], arg(help="Methods to train instead of the three; an empty list trains all.")
]
Robots = Annotated[
    Flag,
    arg(
        help="Learn two robot tasks with perfect memory and RECALL instead, and film them; kept "
        "in OUT, or in runs/robots."
    ),
]
NormaliseTargets = Annotated[Flag, arg(help="Use PopArt for every method, not only for RECALL.")]

INTRODUCTION = """\
Three tasks, one after the other. The rewards of the second are a thousand times larger than those
of the others. Fine-tuning forgets old tasks. Perfect memory replays everything, and the large
rewards of an old task drown the small ones of a new task. RECALL normalises rewards per task."""

ROBOTS = """\
A robot arm learns to press a handle and then to close a window, within minutes on two cores.
Perfect memory and RECALL both replay the first task while they learn the second."""


def demo(
    out: Out = None,
    methods: Methods = ("fine_tuning", "perfect_memory", "recall"),
    normalise_targets: NormaliseTargets = False,
    robots: Robots = False,
) -> None:
    """Train fine-tuning, perfect memory and RECALL on pointworld and compare them."""
    if robots:
        _robots(out or Path("runs/robots"))
        return
    from rich.console import Console

    from recall.api import Stopped
    from recall.methods import METHODS, method_class
    from recall.studies import demo as demonstration
    from recall.training.callbacks.defaults import on_screen

    console = Console()
    plan = replace(demonstration.PLAN, methods=methods or tuple(METHODS))
    for name in plan.methods:
        method_class(name)  # raises an error for an unknown name before anything is trained
    if normalise_targets:
        plan = demonstration.with_normalised_targets(plan)
    if plan == demonstration.PLAN:
        console.print(INTRODUCTION)
    with tempfile.TemporaryDirectory(prefix="recall-demo-") as temporary:
        try:
            rows = demonstration.run_demo(out or Path(temporary), plan, on_screen)
        except Stopped as stopped:  # a demo cannot be resumed
            raise Stopped("the demo was stopped", stopped.exit_status) from None
    demonstration.print_table(rows, plan)
    console.print(f"Next, on robot tasks: [bold]{demonstration.NEXT}[/bold]", soft_wrap=True)


def _robots(folder: Path) -> None:
    from rich.console import Console

    from recall.errors import RecallError
    from recall.studies import robot_demo
    from recall.training.callbacks.defaults import on_screen

    console = Console()
    console.print(ROBOTS)
    rows = robot_demo.run_robots(folder, callback=on_screen)
    robot_demo.print_table(rows)
    try:
        made = robot_demo.make_film(folder)
    except RecallError as error:  # without a way to render, the table is shown all the same
        console.print(f"No film: {error}", style="yellow", soft_wrap=True)
    else:
        console.print(f"Film of RECALL, just learnt and at the end: {made.path}", soft_wrap=True)
