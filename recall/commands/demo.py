"""`recall demo`: a demonstration of the paper's main result in a few minutes."""

from dataclasses import replace
from pathlib import Path

from recall.commands.show import Flag

_POINTWORLD = """\
Three tasks, one after the other. The rewards of the second are a thousand times larger than those
of the others. Fine-tuning forgets old tasks. PM (perfect memory) replays everything, and the large
rewards of an old task drown the small ones of a new task. RECALL normalises rewards per task."""

_ROBOTS = """\
A robot arm learns to press a handle and then to close a window, within minutes on two cores.
PM (perfect memory) and RECALL both replay the first task while they learn the second."""


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
    from recall.training.callbacks.defaults import on_screen

    console = Console()
    plan = demonstration.ROBOTS if robots else demonstration.POINTWORLD
    if methods is None and not normalise_targets:
        console.print(_ROBOTS if robots else _POINTWORLD)
    if methods is not None:
        plan = replace(plan, methods=methods or tuple(METHODS))
    for name in plan.methods:
        method_class(name)  # raises an error for an unknown name before anything is trained
    if normalise_targets:
        plan = demonstration.with_normalised_targets(plan)
    folder = out or Path("runs", "robots" if robots else "demo")
    if out is None and normalise_targets:
        folder = folder.with_name(f"{folder.name}-normalised")
    demonstration.train(folder, plan, on_screen, console)
    demonstration.show(folder, plan, console)
