"""`recall demo`: a demonstration of the paper's main result in a few minutes."""

from dataclasses import replace
from pathlib import Path

from recall.commands.show import Flag


def demo(
    out: Path | None = None,
    methods: tuple[str, ...] | None = None,
    normalise_targets: Flag = False,
    robots: Flag = False,
) -> None:
    """Train a few methods on a few tasks, compare them and film the last one.

    Args:
        out: Folder of the fleets. None: runs/demo, or runs/robots with --robots.
        methods: Methods to train instead of the demo's own; an empty list trains all.
        normalise_targets: Use PopArt for every method, not only for RECALL.
        robots: Learn two robot tasks with perfect memory and RECALL instead.
    """
    from rich.console import Console

    from recall.methods import METHODS, method_class
    from recall.studies import demo as demonstration
    from recall.training.display import on_screen

    console = Console()
    plan = demonstration.ROBOTS if robots else demonstration.POINTWORLD
    if methods is None and not normalise_targets:
        console.print(" ".join(plan.about.split()))  # the terminal breaks the lines
    if methods is not None:
        plan = replace(plan, methods=methods or tuple(METHODS))
    for name in plan.methods:
        method_class(name)  # raises an error for an unknown name before anything is trained
    folder = out or Path("runs", "robots" if robots else "demo")
    if normalise_targets:
        plan = replace(plan, changes={**plan.changes, "normalise_targets": True})
        folder = out or folder.with_name(f"{folder.name}-normalised")
    demonstration.train(folder, plan, on_screen, console)
    demonstration.show(folder, plan, console)
