"""Plot average performance P(t): the mean success over all tasks of a sequence, at every step."""

from collections.abc import Iterator

from recall.analysis.metrics import performance_over_time
from recall.report.figures.figure import Figure, Scene, Skipped
from recall.report.figures.success import of_families

KIND = "average_success"


def make_figures(scene: Scene) -> Iterator[Figure | Skipped]:
    """Yield one figure per family."""
    measure = scene.measure
    yield from of_families(
        scene,
        KIND,
        "Average success",
        "Success averaged over all tasks of the sequence, those not yet met included; dashed "
        "lines are task boundaries.",
        lambda run: (run.steps, performance_over_time(run.curve(measure.mode, measure.field))),
        what="average success",
    )
