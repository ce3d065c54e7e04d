"""Plot every task's return over the whole sequence, where tasks do not report success."""

from collections.abc import Iterator

from recall.report.figures.figure import Figure, Scene, Skipped
from recall.report.figures.groups import families
from recall.report.figures.task_curves import figure_of

KIND = "task_returns"


def make_figures(scene: Scene) -> Iterator[Figure | Skipped]:
    """Yield one figure per sequence without success."""
    found = families(scene.collection.without_success)
    if not found:
        yield Skipped(KIND, "all tasks report success")
    for family in found:
        for group in family.groups[: scene.detailed]:
            yield figure_of(scene, group, KIND, "return")
