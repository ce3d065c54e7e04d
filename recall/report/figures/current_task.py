"""Plot success on the task in training: how well, and how fast, each new task is learnt."""

from collections.abc import Iterator

from recall.report.figures.figure import Figure, Scene, Skipped
from recall.report.figures.stages import current
from recall.report.figures.success import of_families

KIND = "current_task"


def make_figures(scene: Scene) -> Iterator[Figure | Skipped]:
    """Yield one figure per family."""
    yield from of_families(
        scene,
        KIND,
        "Success on the current task",
        "Success on the task in training, which changes at the dashed lines.",
        lambda run: (run.steps, current(run, run.steps, scene.successes(run))),
        broken=True,
    )
