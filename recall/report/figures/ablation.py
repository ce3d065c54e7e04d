"""Variants of one method against each other: average success over steps."""

from collections.abc import Iterator

from recall.report.figures.base import Scene, Sketch, Skipped
from recall.report.figures.groups import PANELS, families, slug
from recall.report.figures.lines import seeds_in_words
from recall.report.figures.style import variant_looks
from recall.report.figures.success import family_sketch
from recall.results.metrics import performance_over_time
from recall.results.run import RunResult
from recall.results.variants import method_label

KIND = "ablation"


def sketches(scene: Scene) -> Iterator[Sketch | Skipped]:
    """A figure for each method with several variants, and each family that has them."""
    measure, drawn = scene.measure, False
    by_method: dict[str, list[RunResult]] = {}
    for run in scene.collection.sequential.runs:
        by_method.setdefault(run.method, []).append(run)
    for method, runs in by_method.items():
        styles = variant_looks(runs)
        if len(styles) < 2:
            continue
        spoken = {run.label: run.variant or run.label for run in runs}
        for family in families(scene.collection):
            family = family.only(list(styles))
            if len(family.labels) < 2 or len(family.groups) > PANELS:
                continue
            drawn = True
            sketch = family_sketch(
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
            yield Sketch(
                KIND, f"{KIND}-{slug(method)}-{slug(family.name)}", sketch.title, sketch.caption,
                sketch.figure, sketch.panels,
            )  # fmt: skip
    if not drawn:
        yield Skipped(KIND, "no method was run in several variants on one sequence")
