"""Plot success over steps, with one panel per sequence of a family."""

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from recall.analysis.without_success import left_out
from recall.files.names import slug
from recall.report.figures import layout
from recall.report.figures.curve_panels import CurveOf, bands_of, draw_bands, seeds_in_words
from recall.report.figures.figure import Figure, Panel, Scene, Skipped
from recall.report.figures.groups import PANELS, Family, Group, shown_families
from recall.report.figures.stages import NEIGHBOURS, crowded, points_of_stage
from recall.report.figures.style import COLUMN, GREY, TEXT, TINY, LineStyle

Array = np.ndarray
NO_SEQUENCES = "there are no runs of one task after the other"
NAMED_STAGES = 7  # from this many stages on, a single sequence gets a wide figure with named stages


def of_families(
    scene: Scene,
    kind: str,
    heading: str,
    caption: str,
    curve_of: CurveOf,
    broken: bool = False,
    what: str = "success",
) -> Iterator[Figure | Skipped]:
    """Yield one figure per family, with the main labels of the methods."""
    found = shown_families(scene.collection.with_success, staged=broken)
    if not found:
        yield Skipped(kind, NO_SEQUENCES)
    for family in found:
        if len(family.groups) > PANELS:
            reason = f"{family.name} has {len(family.groups)} sequences, more than fit one figure"
            yield Skipped(kind, reason)
            continue
        sentences = [caption, seeds_in_words(family.groups), silence(family.groups)]
        text = " ".join(filter(None, sentences))
        yield family_figure(
            kind, heading, text, family, scene.line_styles, curve_of, broken, what=what
        )


def silence(groups: Iterable[Group]) -> str:
    """Return a sentence on the tasks that do not report success, if there are any."""
    runs = [run for group in groups for each in group.runs.values() for run in each]
    return left_out(task for run in runs for task in run.without_success)


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


def family_figure(
    kind: str,
    heading: str,
    caption: str,
    family: Family,
    styles: Mapping[str, LineStyle],
    curve_of: CurveOf,
    broken: bool = False,
    spoken: Callable[[str], str] = str,
    what: str = "success",
) -> Figure:
    """Draw panels for all sequences of a family; `spoken` maps a label to its legend entry."""
    groups = family.groups
    legend: list[layout.Handle] = [
        layout.handle(spoken(label), styles[label]) for label in family.labels
    ]
    figure, axes, columns = _panels(groups, legend)
    panels = []
    few = False
    for index, (group, ax) in enumerate(zip(groups, axes, strict=True)):
        bottom, left = layout.is_outer(index, len(groups), columns)
        breaks = group.stage_ends if broken else []
        points = points_of_stage(ax, len(group.tasks))
        few |= crowded([run for runs in group.runs.values() for run in runs], points)
        bands = bands_of(group, curve_of, points, breaks)
        series = draw_bands(ax, bands, styles, breaks)
        layout.steps_axis(ax, group.total_steps, group.steps_per_task, bottom)
        layout.success_axis(ax, left, what)
        if len(groups) == 1 and len(group.tasks) >= NAMED_STAGES:
            name_stages(ax, group)
        else:
            layout.title(ax, group.sequence, group.in_words if len(groups) == 1 else "")
        panels.append(Panel.of(ax, group.sequence, ("steps", "success"), series))
    name = groups[0].sequence if len(groups) == 1 else family.name
    where = "" if name in heading else f", {name}"
    caption += NEIGHBOURS if few else ""
    return Figure(
        kind, f"{kind}-{slug(family.name)}", heading + where, caption, figure, tuple(panels)
    )


def _panels(groups: list[Group], legend: list[layout.Handle]) -> tuple[Canvas, list[Axes], int]:
    """Make one wide or narrow panel, or a grid."""
    if len(groups) == 1:
        long = len(groups[0].tasks) >= NAMED_STAGES
        space = layout.Space(above=0.62, right=0.42) if long else layout.Space()
        width = TEXT if long else COLUMN
        return *layout.grid(1, 1, 1.9, legend, width, space), 1
    columns = 2 if len(groups) in (2, 4) else 3
    space = layout.Space(under=0.12)
    return *layout.grid(len(groups), columns, 1.25, legend, TEXT, space), columns


def name_stages(axes: Axes, group: Group) -> None:
    """Write the task of every stage above the panel, slanted."""
    for task, start, end in group.stages():
        axes.annotate(
            group.tasks[task], ((start + end) / 2, 1.0), (-3, 3),
            xycoords=("data", "axes fraction"), textcoords="offset points",
            rotation=38, rotation_mode="anchor", fontsize=TINY, color=GREY, annotation_clip=False,
        )  # fmt: skip
