"""Plot every task's success over the whole sequence: when it is learnt, and when forgotten."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from recall.analysis.run_result import RunResult
from recall.files.names import slug
from recall.report.figures import layout
from recall.report.figures.curve_panels import bands_of, draw_bands, seeds_in_words
from recall.report.figures.figure import Figure, Panel, Scene, Skipped
from recall.report.figures.groups import Group
from recall.report.figures.stages import NEIGHBOURS, crowded, points_of_stage
from recall.report.figures.success import each_sequence, silence

Array = np.ndarray
KIND = "task_curves"
OWN_STAGE = "own stage"  # marks the shading


def make_figures(scene: Scene) -> Iterator[Figure | Skipped]:
    """Yield one figure per sequence."""
    for group in each_sequence(scene, KIND):
        yield group if isinstance(group, Skipped) else figure_of(scene, group)


def figure_of(scene: Scene, group: Group, kind: str = KIND, field: str | None = None) -> Figure:
    """Draw a panel for each task; `field` is drawn, or success as the scene measures it."""
    what = field or "success"
    styles = scene.line_styles
    legend = [layout.handle(label, styles[label]) for label in group.runs]
    count = len(group.tasks)
    columns = count if count < 6 else 3 if count == 6 else 5
    # Returns have numbers of their own on every axis.
    room = {} if field is None else {"left": 0.62, "beside": 0.46}
    space = layout.Space(above=0.21, under=0.12, **room)
    figure, axes = layout.grid(count, columns, 0.82 if count > 6 else 1.2, legend, space=space)
    points = points_of_stage(axes[0], count)
    few = crowded([run for runs in group.runs.values() for run in runs], points)
    panels = []
    for (task, start, end), ax in zip(group.stages(), axes, strict=True):
        bottom, left = layout.is_outer(task, count, columns)
        ax.axvspan(start, end, color="#f0f0f0", linewidth=0, zorder=0, gid=OWN_STAGE)
        bands = bands_of(group, partial(_own_curve, scene, task, field), points)
        series = draw_bands(ax, bands, styles)
        layout.steps_axis(ax, group.total_steps, group.steps_per_task, bottom)
        if field is None:
            layout.success_axis(ax, left)
        else:
            layout.plain_axis(ax, what if left else "")
        name = f"{task + 1} {group.tasks[task]}"
        layout.title(ax, name)
        panels.append(Panel.of(ax, name, ("steps", what), series))
    return Figure(
        kind,
        f"{kind}-{slug(group.sequence)}",
        f"Every task of {group.sequence}" + ("" if field is None else f", {what}"),
        f"{what.capitalize()} on each task over the whole sequence; its own stage is shaded. "
        + seeds_in_words([group])
        + (NEIGHBOURS if few else "")
        + (f" {silence([group])}".rstrip() if field is None else ""),
        figure,
        tuple(panels),
    )


def _own_curve(scene: Scene, task: int, field: str | None, run: RunResult) -> tuple[Array, Array]:
    measure = scene.measure
    return run.steps, run.curve(measure.mode, field or measure.field).success[:, task]
