"""Draw panels of mean curves over steps: success over sequences, and every task's own curve.

`curve_figure` draws declared panels. `family_figures` makes a figure for each family of sequences
from a function that takes a run and returns a curve; plug-ins use it too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from recall.analysis.collection import Collection
from recall.analysis.labels import method_label
from recall.analysis.measures import RETURN
from recall.analysis.metrics import performance_over_time
from recall.analysis.run_result import RunResult
from recall.files.names import slug
from recall.report.figures import layout
from recall.report.figures.bands import Band, CurveOf, bands_of, crowded, current
from recall.report.figures.figure import Figure, Scene, Skipped
from recall.report.figures.groups import (
    PANELS,
    Family,
    Group,
    families,
    group_of,
    shown_families,
    silence,
)
from recall.report.figures.layout import Scale, panel_width
from recall.report.figures.style import COLUMN, GREY, SHADE, TEXT, TINY, LineStyle

Array = np.ndarray
OWN_STAGE = "own stage"  # labels the shading
NO_SEQUENCES = "there are no runs of one task after the other"
NAMED_STAGES = 7  # from this many stages on, a single sequence gets a wide figure with named stages
POINTS_PER_INCH = 40  # per curve; denser points blur into a blot
LEAST_POINTS = 5
NEIGHBOURS = "Points are means of neighbouring evaluations, as many as can be told apart."


@dataclass(frozen=True)
class CurvePanel:
    """Mean curves over the steps of one sequence, on one pair of axes."""

    title: str
    group: Group
    bands: Mapping[str, Band]
    scale: Scale = "rate"
    detail: str = ""
    """Shown beside the title if there is room."""
    stage: tuple[int, int] | None = None
    """First and last step of the stage to shade."""
    breaks: Sequence[int] = ()
    """Steps at which the curves are interrupted, because they show another task."""
    named: bool = False
    """Whether every stage's task is written above it."""


def curve_figure(
    panels: Sequence[CurvePanel],
    styles: Mapping[str, LineStyle],
    names: Mapping[str, str],
    *,
    columns: int,
    height: float,
    name: str = "",
    width: float = TEXT,
) -> Canvas:
    """Draw panels, each with its own scale unless they show rates or `name` is their quantity."""
    shared = bool(name) and len({panel.scale for panel in panels}) == 1 and panels[0].scale in (
        "rate", "fitted",
    )  # fmt: skip
    figure, axes = layout.grid(len(panels), columns, width, sharey=shared)
    columns = min(columns, len(panels))
    for index, (panel, ax) in enumerate(zip(panels, axes, strict=True)):
        draw_bands(ax, panel.bands, styles, panel.breaks)
        if panel.stage is not None:
            ax.axvspan(*panel.stage, color=SHADE, linewidth=0, zorder=0, label=OWN_STAGE)
        bottom = index + columns >= len(panels)
        group = panel.group
        layout.steps_axis(
            ax, group.total_steps, group.steps_per_task, panel_width(columns, width), bottom
        )
        scaled = panels if shared else [panel]
        values = [band.mean for each in scaled for band in each.bands.values()]
        layout.value_axis(ax, panel.scale, values)
        if panel.named:
            name_stages(ax, group)
        else:
            layout.set_title(ax, panel.title, panel.detail)
    figure.supxlabel("steps")
    figure.supylabel(name)
    labels = {label for panel in panels for label in panel.bands}
    legend = [layout.handle(names[label], styles[label]) for label in names if label in labels]
    return layout.finish(figure, axes, height, legend)


def draw_bands(
    axes: Axes,
    bands: Mapping[str, Band],
    styles: Mapping[str, LineStyle],
    breaks: Sequence[int] = (),
) -> None:
    """Draw the mean curve of every label with its interval, the last one on top."""
    for label, found in bands.items():
        style = styles[label]
        gaps = np.searchsorted(found.steps, breaks, side="right")
        x, mean, low, high = (
            np.insert(values, gaps, np.nan)
            for values in (found.steps, found.mean, found.low, found.high)
        )
        if found.runs > 1:
            axes.fill_between(x, low, high, color=style.colour, alpha=0.16, linewidth=0)
        # Draw a few markers, at different places for each label, so that none hides another.
        every = max(1, len(x) // 4)
        first = sum(label.encode()) % every
        axes.plot(
            x, mean, color=style.colour, linestyle=style.dash, label=label, marker=style.marker,
            linewidth=1.2 if len(x) < 80 else 0.9,
            markersize=3.0, markevery=(first, every), markeredgecolor="white", markeredgewidth=0.4,
        )  # fmt: skip


def runs_in_words(groups: Sequence[Group]) -> str:
    """Return a sentence for captions that says how many runs the means are over."""
    counts: dict[str, set[int]] = {}
    for group in groups:
        for label, runs in group.runs.items():
            counts.setdefault(label, set()).add(len(runs))
    numbers = {number for found in counts.values() for number in found}
    if numbers == {1}:
        return "One run each."
    interval = "90 % bootstrap intervals, for which whole runs are resampled"
    if len(numbers) == 1:
        return f"Means of {numbers.pop()} runs with {interval}."
    told = (
        f"{label} {min(found)}" + (f" to {max(found)}" if len(found) > 1 else "")
        for label, found in counts.items()
    )
    return f"Means with {interval}; runs: {', '.join(told)}."


def family_figures(
    scene: Scene,
    kind: str,
    title: str,
    caption: str,
    curve_of: CurveOf,
    name: str = "success",
    staged: bool = False,
) -> Iterator[Figure | Skipped]:
    """Yield a figure for each family of sequences, with a panel for each sequence.

    `curve_of` returns (steps, values) of a run, with values from 0 to 1 that `name` names. A
    `staged` curve shows another task in each stage.
    """
    found = shown_families(scene.collection.with_success, staged)
    if not found:
        yield Skipped(kind, NO_SEQUENCES)
    for family in found:
        if len(family.groups) > PANELS:
            reason = f"{family.name} has {len(family.groups)} sequences, more than fit one figure"
            yield Skipped(kind, reason)
        else:
            subject = "" if family.name in title else f", {family.name}"
            figure, few = _family(scene, family, curve_of, name, staged)
            sentences = [caption, runs_in_words(family.groups), silence(family.groups)]
            text = " ".join(filter(None, [*sentences, NEIGHBOURS if few else ""]))
            yield Figure(kind, f"{kind}-{slug(family.name)}", title + subject, text, figure)


def _family(
    scene: Scene, family: Family, curve_of: CurveOf, name: str, staged: bool
) -> tuple[Canvas, bool]:
    """Draw one wide or narrow panel, or a grid, and return whether points are means."""
    groups = family.groups
    long = len(groups) == 1 and len(groups[0].tasks) >= NAMED_STAGES
    width = TEXT if len(groups) > 1 or long else COLUMN
    columns = 1 if len(groups) == 1 else 2 if len(groups) in (2, 4) else 3
    panels, few = [], False
    for group in groups:
        points = points_of_stage(len(group.tasks), min(columns, len(groups)), width)
        few |= crowded(group.every_run, points)
        breaks = group.stage_ends if staged else []
        bands = bands_of(group, curve_of, points, breaks)
        detail = group.in_words if len(groups) == 1 else ""
        panels.append(
            CurvePanel(group.sequence, group, bands, "rate", detail, breaks=breaks, named=long)
        )
    height = 1.9 if len(groups) == 1 else 1.25
    figure = curve_figure(
        panels, scene.line_styles, scene.names, columns=columns, height=height, name=name,
        width=width,
    )  # fmt: skip
    return figure, few


def points_of_stage(stages: int, columns: int, width: float = TEXT) -> int:
    """Return how many points of each stage can be told apart in a panel of a grid."""
    return max(LEAST_POINTS, int(POINTS_PER_INCH * panel_width(columns, width) / stages))


def name_stages(axes: Axes, group: Group) -> None:
    """Write the task of every stage above the panel, slanted."""
    names = axes.secondary_xaxis("top")
    middles = [(start + end) / 2 for _, start, end in group.stages()]
    names.set_xticks(middles, group.tasks, rotation=38, rotation_mode="anchor", ha="left")
    names.tick_params(length=0, pad=1, labelsize=TINY, labelcolor=GREY)
    names.spines[:].set_visible(False)


def average_success(scene: Scene) -> Iterator[Figure | Skipped]:
    """Plot P(t), the mean success over all tasks of a sequence, with the variants of methods apart.

    There is a figure for each family, and one for each method that has several variants in it.
    """
    yield from _average(scene, "average_success", "Average success")
    runs = scene.collection.with_success.sequential.runs
    methods = list(dict.fromkeys(run.method for run in runs))
    for method in methods if len(methods) > 1 else ():
        part = scene.of_method(method)
        if len(part.collection.with_success.sequential.labels) < 2:
            continue
        title = f"Variants of {method_label(method)}"
        for figure in _average(part, f"average_success-{slug(method)}", title):
            if isinstance(figure, Figure):
                yield replace(figure, kind="average_success")


def _average(scene: Scene, kind: str, title: str) -> Iterator[Figure | Skipped]:
    measure = scene.measure
    return family_figures(
        scene,
        kind,
        title,
        "Success averaged over all tasks of the sequence, those not yet met included; dashed "
        "lines are task boundaries.",
        lambda run: (run.steps, performance_over_time(run.curve(measure.mode, measure.field))),
        "average success",
    )


def current_task(scene: Scene) -> Iterator[Figure | Skipped]:
    """Plot success on the task in training: how well, and how fast, each new task is learned."""
    return family_figures(
        scene,
        "current_task",
        "Success on the current task",
        "Success on the task in training, which changes at the dashed lines.",
        lambda run: (run.steps, current(run, run.steps, scene.successes(run))),
        staged=True,
    )


def task_curves(scene: Scene) -> Iterator[Figure | Skipped]:
    """Plot every task over the whole sequence: when it is learned, and when forgotten.

    Returns are drawn where tasks do not report success. Tasks learned alone are drawn if there are
    no sequences, or if they do not report success.
    """
    known, silent = scene.collection.with_success, scene.collection.without_success
    returns = [*_returns(scene, silent), *_alone(scene, silent, RETURN)]
    if known.runs and not scene.collection.sequential.runs:
        yield from _alone(scene, known, scene.measure.field)
    elif not returns or families(known):
        for group in each_sequence(scene, "task_curves"):
            yield group if isinstance(group, Skipped) else _tasks(scene, group)
    yield from returns


def _returns(scene: Scene, silent: Collection) -> Iterator[Figure]:
    for family in families(silent):
        for group in family.groups[: scene.detailed]:
            yield _tasks(scene, group, RETURN)


def each_sequence(scene: Scene, kind: str, staged: bool = False) -> Iterator[Group | Skipped]:
    """Yield the sequences that get figures of their own, with the main labels of the methods."""
    found = shown_families(scene.collection.with_success, staged)
    if not found:
        yield Skipped(kind, NO_SEQUENCES)
    for family in found:
        groups = family.groups
        yield from groups[: scene.detailed]
        if left := groups[len(groups[: scene.detailed]) :]:
            names = left[0].sequence + (f" to {left[-1].sequence}" if len(left) > 1 else "")
            reason = f"of {family.name} the first {scene.detailed} are drawn, and not {names}"
            yield Skipped(kind, reason)


def _tasks(scene: Scene, group: Group, field: str | None = None) -> Figure:
    """Draw a panel for each task; `field` is drawn, or success as the scene measures it."""
    measure, count = scene.measure, len(group.tasks)
    columns = count if count < 6 else 3 if count == 6 else 5
    points = points_of_stage(count, columns)

    def curve_of(run: RunResult, task: int) -> tuple[Array, Array]:
        return run.steps, run.curve(measure.mode, field or measure.field).success[:, task]

    panels = [
        CurvePanel(
            f"{task + 1} {group.tasks[task]}",
            group,
            bands_of(group, partial(curve_of, task=task), points),
            "rate" if field is None else "plain",
            stage=(start, end),
        )
        for task, start, end in group.stages()
    ]
    name = field or "success"
    sentences = [
        f"{name.capitalize()} on each task over the whole sequence; its own stage is shaded.",
        runs_in_words([group]),
        silence([group]) if field is None else "",
        NEIGHBOURS if crowded(group.every_run, points) else "",
    ]
    return Figure(
        "task_curves",
        f"task_curves-{slug(group.sequence)}",
        f"Every task of {group.sequence}" + ("" if field is None else f", {name}"),
        " ".join(filter(None, sentences)),
        curve_figure(
            panels, scene.line_styles, scene.names, columns=columns,
            height=0.82 if count > 6 else 1.2, name=name,
        ),
    )  # fmt: skip


def _alone(scene: Scene, collection: Collection, field: str) -> Iterator[Figure | Skipped]:
    """Draw the tasks that were learned alone, as many as fit one figure."""
    every = [
        group_of(task, part, part.labels) for task, part in collection.single.by_sequence().items()
    ]
    groups, left = every[:PANELS], every[PANELS:]
    if left:
        names = ", ".join(group.sequence for group in left)
        yield Skipped("task_curves", f"more single tasks than fit one figure: {names}")
    if not groups:
        return
    points = points_of_stage(1, 3)

    def curve_of(run: RunResult) -> tuple[Array, Array]:
        return run.steps, run.curve(scene.measure.mode, field).success[:, 0]

    panels = [
        CurvePanel(
            group.sequence,
            group,
            bands_of(group, curve_of, points),
            "plain" if field == RETURN else "rate",
        )
        for group in groups
    ]
    name = RETURN if field == RETURN else "success"
    sentences = [
        f"{name.capitalize()} on each task while it is learned alone.",
        runs_in_words(groups),
        NEIGHBOURS if any(crowded(group.every_run, points) for group in groups) else "",
    ]
    width = COLUMN if len(groups) == 1 else TEXT
    yield Figure(
        "task_curves",
        "task_curves-alone",
        f"Tasks learned alone, {name}",
        " ".join(filter(None, sentences)),
        curve_figure(
            panels, scene.line_styles, scene.names, columns=3, height=1.2, name=name, width=width
        ),
    )
