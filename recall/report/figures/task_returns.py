"""Plot every task's return over its sequence, or alone, where tasks do not report success."""

from collections.abc import Iterator, Sequence

from recall.analysis.measures import RETURN
from recall.report.figures import layout
from recall.report.figures.curve_panels import bands_of, draw_bands, seeds_in_words
from recall.report.figures.figure import Figure, Panel, Scene, Skipped
from recall.report.figures.groups import PANELS, Group, families, single_tasks
from recall.report.figures.stages import NEIGHBOURS, crowded, points_of_stage
from recall.report.figures.style import COLUMN, TEXT
from recall.report.figures.task_curves import figure_of

KIND = "task_returns"


def make_figures(scene: Scene) -> Iterator[Figure | Skipped]:
    """Yield one figure per sequence without success, and one of all such tasks learnt alone."""
    silent = scene.collection.without_success
    if not silent.runs:
        yield Skipped(KIND, "every run has a task that reports success")
    for family in families(silent):
        for group in family.groups[: scene.detailed]:
            yield figure_of(scene, group, KIND, RETURN)
    if alone := single_tasks(silent):
        yield _alone(scene, alone[:PANELS])
        if left := alone[PANELS:]:
            names = ", ".join(group.sequence for group in left)
            yield Skipped(KIND, f"more single tasks than fit one figure: {names}")


def _alone(scene: Scene, groups: Sequence[Group]) -> Figure:
    """Draw a panel for each task that was learnt alone."""
    styles, mode = scene.line_styles, scene.measure.mode
    labels = dict.fromkeys(label for group in groups for label in group.runs)
    legend = [layout.handle(label, styles[label]) for label in labels]
    columns = min(len(groups), 3)
    # Returns have numbers of their own on every axis.
    space = layout.Space(above=0.21, under=0.12, left=0.62, beside=0.46)
    width = COLUMN if len(groups) == 1 else TEXT
    figure, axes = layout.grid(len(groups), columns, 1.2, legend, width, space)
    panels, few = [], False
    for index, (group, ax) in enumerate(zip(groups, axes, strict=True)):
        bottom, left = layout.is_outer(index, len(groups), columns)
        points = points_of_stage(ax, 1)
        few |= crowded([run for runs in group.runs.values() for run in runs], points)
        bands = bands_of(group, lambda run: (run.steps, run.curves[mode, RETURN][:, 0]), points)
        series = draw_bands(ax, bands, styles)
        layout.steps_axis(ax, group.total_steps, group.steps_per_task, bottom)
        layout.plain_axis(ax, RETURN if left else "")
        layout.title(ax, group.sequence)
        panels.append(Panel.of(ax, group.sequence, ("steps", RETURN), series))
    caption = f"Return on each task while it is learnt alone. {seeds_in_words(groups)}"
    return Figure(
        KIND,
        f"{KIND}-alone",
        "Tasks learnt alone, return",
        caption + (NEIGHBOURS if few else ""),
        figure,
        tuple(panels),
    )
