"""Draw panels of mean curves over steps: success over sequences, and every task's own curve."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from recall.analysis.collection import Collection
from recall.analysis.metrics import RETURN, performance_over_time
from recall.report.figures import layout
from recall.report.figures.bands import (
    Band,
    CurveOf,
    Group,
    bands_of,
    current,
    described,
    families,
    group_of,
    silence,
)
from recall.report.figures.figure import Figure, Scene, Skipped
from recall.report.figures.layout import (
    COLUMN,
    GREY,
    SHADE,
    TEXT,
    TINY,
    LineStyle,
    Scale,
    panel_width,
)
from recall.runs.wording import few

OWN_STAGE = "own stage"  # labels the shading

FAMILIES = 6  # most families that are drawn, unless `detailed` is None
PANELS = 12  # most sequences of a family in one figure
NAMED_STAGES = 7  # from this many stages on, a single sequence gets a wide figure with named stages
POINTS_PER_INCH = 40  # per curve; denser points blur into a blot
LEAST_POINTS = 5


@dataclass(frozen=True)
class Panel:
    """Mean curves over the steps of one sequence, on one pair of axes."""

    title: str
    group: Group
    bands: Mapping[str, Band]
    scale: Scale = "rate"
    detail: str = ""
    stage: int | None = None
    """The stage to shade."""
    ends: Sequence[int] = ()
    """Steps after which curves show another task."""
    named: bool = False
    """Whether every stage's task is written above it, instead of the title."""


def curve_figure(
    scene: Scene,
    panels: Sequence[Panel],
    *,
    columns: int,
    height: float,
    name: str = "",
    width: float = TEXT,
    styles: Mapping[str, LineStyle] | None = None,
) -> Canvas:
    """Draw panels, each with its own scale unless they show rates or `name` is their quantity.

    `styles` are those of curves that are not of the scene's labels.
    """
    names = {label: label for label in styles} if styles else scene.names
    styles = styles or scene.line_styles
    scales = {panel.scale for panel in panels}
    shared = bool(name) and scales in ({"rate"}, {"fitted"})
    figure, axes = layout.grid(len(panels), columns, height, width, sharey=shared)
    columns = min(columns, len(panels))
    wide = panel_width(columns, width)
    for index, (panel, ax) in enumerate(zip(panels, axes, strict=True)):
        group = panel.group
        draw_bands(ax, panel.bands, styles, panel.ends)
        if panel.stage is not None:
            end = group.ends[panel.stage]
            start = end - group.steps_per_task
            ax.axvspan(start, end, color=SHADE, linewidth=0, zorder=0, label=OWN_STAGE)
        bottom = index + columns >= len(panels)
        layout.steps_axis(ax, group.ends[-1], group.steps_per_task, wide, bottom)
        scaled = panels if shared else [panel]
        values = [band.mean for each in scaled for band in each.bands.values()]
        layout.value_axis(ax, panel.scale, values)
        if panel.named:
            name_stages(ax, group)
        else:
            layout.set_title(ax, panel.title, panel.detail, wide)
    figure.supxlabel("steps")
    figure.supylabel(name)
    labels = {label for panel in panels for label in panel.bands}
    legend = [layout.handle(names[label], styles[label]) for label in names if label in labels]
    return layout.finish(figure, legend)


def draw_bands(
    axes: Axes,
    bands: Mapping[str, Band],
    styles: Mapping[str, LineStyle],
    ends: Sequence[int] = (),
) -> None:
    """Draw the mean curve of every label with its interval, the last one on top."""
    for label, found in bands.items():
        style = styles[label]
        gaps = np.searchsorted(found.steps, ends, side="right")
        x, mean, low, high = (
            np.insert(np.asarray(values, float), gaps, np.nan)
            for values in (found.steps, found.mean, found.low, found.high)
        )
        if found.runs > 1:
            axes.fill_between(x, low, high, color=style.colour, alpha=0.16, linewidth=0)
        # Draw a few markers, at different places for each label, so that none hides another.
        every = max(1, len(x) // 4)
        first = sum(label.encode()) % every
        axes.plot(
            x, mean, label=label, linewidth=1.2 if len(x) < 80 else 0.9,
            markersize=3.0, markevery=(first, every), **style.of_line,
        )  # fmt: skip


def name_stages(axes: Axes, group: Group) -> None:
    """Write the task of every stage above the panel, slanted."""
    names = axes.secondary_xaxis("top")
    names.set_xticks(group.middles, group.tasks, rotation=38, rotation_mode="anchor", ha="left")
    names.tick_params(length=0, pad=1, labelsize=TINY, labelcolor=GREY)
    names.spines[:].set_visible(False)


def drawn_families(
    scene: Scene, kind: str, collection: Collection, staged: bool = False
) -> tuple[dict[str, list[Group]], list[Skipped]]:
    """Return the families of sequences to draw, with the main labels, and why others are not."""
    found = families(collection, staged)
    if not found:
        return {}, [Skipped(kind, "there are no runs of one task after the other")]
    drawn = [*found] if scene.detailed is None else [*found][:FAMILIES]
    left = few([*found][len(drawn) :], 3)
    reason = f"the first {FAMILIES} kinds of sequences are drawn, not {left}"
    return {name: found[name] for name in drawn}, [Skipped(kind, reason)] if left else []


def drawn_sequences(
    scene: Scene, kind: str, staged: bool = False
) -> tuple[list[Group], list[Skipped]]:
    """Return the sequences that get figures of their own, and why others do not."""
    found, skipped = drawn_families(scene, kind, scene.collection.with_success, staged)
    drawn: list[Group] = []
    for name, groups in found.items():
        first = groups[: scene.detailed]
        drawn += first
        if left := few([group.sequence for group in groups[len(first) :]], 3):
            reason = f"of {name} the first {len(first)} are drawn, not {left}"
            skipped.append(Skipped(kind, reason))
    return drawn, skipped


def points_of_stage(stages: int, columns: int, width: float = TEXT) -> int:
    """Return how many points of each stage can be told apart in a panel of a grid."""
    return max(LEAST_POINTS, int(POINTS_PER_INCH * panel_width(columns, width) / stages))


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
    found, skipped = drawn_families(scene, kind, scene.collection.with_success, staged)
    for family, groups in found.items():
        shown = groups[:PANELS]
        long = len(shown) == 1 and len(shown[0].tasks) >= NAMED_STAGES
        width = TEXT if len(shown) > 1 or long else COLUMN
        columns = min(len(shown), 2 if len(shown) in (2, 4) else 3)
        points = points_of_stage(max(len(group.tasks) for group in shown), columns, width)
        panels = []
        for group in shown:
            ends = group.ends if staged else ()
            detail = "" if group.sequence == ",".join(group.tasks) else group.in_words
            bands = bands_of(group, curve_of, points, ends)
            panels.append(Panel(group.sequence, group, bands, detail=detail, ends=ends, named=long))
        height = 1.9 if len(shown) == 1 else 1.25
        figure = curve_figure(scene, panels, columns=columns, name=name, width=width, height=height)
        sentences = [caption, described(shown), _cut(groups), silence(shown)]
        about = title if family in title else f"{title}, {family}"
        yield Figure.of(kind, family, about, sentences, figure)
    yield from skipped


def average_success(scene: Scene) -> Iterator[Figure | Skipped]:
    """Plot P(t), the mean success over all tasks of a sequence."""
    measure = scene.measure
    return family_figures(
        scene,
        "average_success",
        "Average success",
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
    groups = [group for groups in families(silent).values() for group in groups[: scene.detailed]]
    returns = [_tasks(scene, group, RETURN) for group in groups[:FAMILIES]]
    returns += _alone(scene, silent, RETURN)
    if known.runs and not scene.collection.sequential.runs:
        yield from _alone(scene, known, scene.measure.field)
    elif not returns or families(known):
        drawn, skipped = drawn_sequences(scene, "task_curves")
        yield from (_tasks(scene, group, scene.measure.field) for group in drawn)
        yield from skipped
    yield from returns


def _tasks(scene: Scene, group: Group, field: str) -> Figure:
    """Draw a panel with `field` for each task of a sequence."""
    count, (name, scale) = len(group.tasks), _shown(field)
    columns = count if count < 6 else 3 if count == 6 else 5
    points = points_of_stage(count, columns)
    bands = [bands_of(group, _curve_of(scene, field, task), points) for task in range(count)]
    panels = [
        Panel(f"{task + 1} {group.tasks[task]}", group, found, scale, stage=task)
        for task, found in enumerate(bands)
    ]
    sentences = [
        f"{name.capitalize()} on each task over the whole sequence; its own stage is shaded.",
        described([group]),
        silence([group]) if scale == "rate" else "",
    ]
    height = 0.82 if count > 6 else 1.2
    figure = curve_figure(scene, panels, columns=columns, height=height, name=name)
    title = f"Every task of {group.sequence}, {name}"
    return Figure.of("task_curves", group.sequence, title, sentences, figure)


def _alone(scene: Scene, collection: Collection, field: str) -> Iterator[Figure]:
    """Yield a figure of the tasks that were learned alone, if there are any."""
    tasks = collection.single.by_sequence().items()
    groups = [group_of(task, part, part.labels) for task, part in tasks]
    if not groups:
        return
    shown, points, (name, scale) = groups[:PANELS], points_of_stage(1, 3), _shown(field)
    curve_of = _curve_of(scene, field, 0)
    panels = [
        Panel(group.sequence, group, bands_of(group, curve_of, points), scale) for group in shown
    ]
    caption = f"{name.capitalize()} on each task while it is learned alone."
    width = COLUMN if len(groups) == 1 else TEXT
    figure = curve_figure(scene, panels, columns=3, height=1.2, name=name, width=width)
    sentences = [caption, described(shown), _cut(groups)]
    yield Figure.of("task_curves", "alone", f"Tasks learned alone, {name}", sentences, figure)


def _shown(field: str) -> tuple[str, Scale]:
    """Return what figures call a field of the records, and its scale."""
    return (RETURN, "plain") if field == RETURN else ("success", "rate")


def _curve_of(scene: Scene, field: str, task: int) -> CurveOf:
    """Return a function of a run that returns the steps and values of a field on one task."""
    return lambda run: (run.steps, run.curve(scene.measure.mode, field).success[:, task])


def _cut(groups: Sequence[Group]) -> str:
    """Return a sentence if a figure has no room for all groups."""
    return f"The first {PANELS} of {len(groups)}." if len(groups) > PANELS else ""
