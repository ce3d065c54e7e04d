"""Plot variants of one method against each other: average success over steps."""

from collections.abc import Iterator

from recall.analysis.labels import method_label
from recall.analysis.metrics import performance_over_time
from recall.analysis.run_result import RunResult
from recall.files.names import slug
from recall.report.figures.curve_panels import seeds_in_words
from recall.report.figures.figure import Figure, Scene, Skipped
from recall.report.figures.groups import PANELS, families
from recall.report.figures.style import variant_line_styles
from recall.report.figures.success import family_figure

KIND = "ablation"


def make_figures(scene: Scene) -> Iterator[Figure | Skipped]:
    """Yield one figure per method with several variants and family that has them."""
    measure, drawn = scene.measure, False
    by_method: dict[str, list[RunResult]] = {}
    for run in scene.collection.with_success.sequential.runs:
        by_method.setdefault(run.method, []).append(run)
    for method, runs in by_method.items():
        styles = variant_line_styles(runs)
        if len(styles) < 2:
            continue
        spoken = {run.label: _entry(run) for run in runs}
        for family in families(scene.collection.with_success):
            family = family.only(list(styles))
            if len(family.labels) < 2 or len(family.groups) > PANELS:
                continue
            drawn = True
            figure = family_figure(
                KIND,
                f"Variants of {method_label(method)}, {family.name}",
                "Success averaged over all tasks of the sequence. " + seeds_in_words(family.groups),
                family,
                styles,
                lambda run: (
                    run.steps,
                    performance_over_time(run.curve(measure.mode, measure.field)),
                ),
                spoken=spoken.__getitem__,
                what="average success",
            )
            yield Figure(
                KIND, f"{KIND}-{slug(method)}-{slug(family.name)}", figure.title, figure.caption,
                figure.figure, figure.panels,
            )  # fmt: skip
    if not drawn:
        yield Skipped(KIND, "no method was run in several variants on one sequence")


def _entry(run: RunResult) -> str:
    """Return the legend entry of a run's variant: what it departs in, or the name it was given."""
    return run.variant if run.variant and run.label.endswith(run.variant) else run.label
