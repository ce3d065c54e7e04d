"""Plot the size of every task's Q values over training: scales that compete for one network."""

from collections.abc import Iterator, Mapping

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from recall.files.names import slug
from recall.report.figures import layout
from recall.report.figures.bands import Band
from recall.report.figures.curve_panels import draw_band, seeds_in_words
from recall.report.figures.figure import Figure, Panel, Scene, Series, Skipped
from recall.report.figures.groups import Group
from recall.report.figures.style import LineStyle
from recall.report.figures.training_curves import fit_scale, of_groups, record_bands

KIND = "q_scale"


def make_figures(scene: Scene) -> Iterator[Figure | Skipped]:
    """Yield one figure for the first sequence of each family."""
    yield from of_groups(scene, KIND, "its training records have no Q values", _make_figure)


def _make_figure(group: Group, _: Mapping[str, LineStyle]) -> Figure | None:
    by_task = [record_bands(group, "q_value", task) for task in range(len(group.tasks))]
    labels = [label for label in group.runs if any(label in bands for bands in by_task)]
    if not labels:
        return None
    shades = np.linspace(0.0, 0.92, len(group.tasks))
    colours = [to_hex(colormaps["viridis"](shade)) for shade in shades]
    legend = [
        layout.handle(f"{task + 1} {name}", LineStyle(colour, ""), marker="")
        for task, (name, colour) in enumerate(zip(group.tasks, colours, strict=True))
    ]
    columns = 3 if len(labels) > 2 else 2
    space = layout.Space(left=0.5)
    figure, axes = layout.grid(len(labels), columns, 1.3, legend, space=space)
    every = [
        _draw(ax, label, by_task, colours, group) for ax, label in zip(axes, labels, strict=True)
    ]
    limits = [ax.get_ylim() for ax in axes]
    panels = []
    for index, (ax, label) in enumerate(zip(axes, labels, strict=True)):
        bottom, left = layout.is_outer(index, len(labels), columns)
        ax.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
        layout.steps_axis(ax, group.total_steps, group.steps_per_task, bottom)
        ax.grid(axis="y", color="#eeeeee", linewidth=0.5)
        layout.short_numbers(ax)
        ax.tick_params(labelleft=left)
        if left:
            ax.set_ylabel("mean Q", labelpad=2.0)
        layout.title(ax, label)
        panels.append(Panel.of(ax, label, ("steps", "mean Q"), every[index]))
    return Figure(
        KIND,
        f"{KIND}-{slug(group.sequence)}",
        f"Scale of Q on {group.sequence}",
        "Mean Q of each task on its transitions in the batches; a curve ends where a method no "
        "longer draws any. Where old policies are only cloned, the critics of old tasks are not "
        f"trained. {seeds_in_words([group])}",
        figure,
        tuple(panels),
    )


def _draw(
    axes: Axes, label: str, by_task: list[dict[str, Band]], colours: list[str], group: Group
) -> list[Series]:
    """Draw the curves of one label, on a scale that suits all labels."""
    fit_scale(axes, [band.mean for bands in by_task for band in bands.values()])
    series = []
    for task, bands in enumerate(by_task):
        if label in bands:
            draw_band(axes, bands[label], LineStyle(colours[task], ""), group.tasks[task])
            series.append(Series.of(group.tasks[task], colours[task], bands[label]))
    return series
