"""Plot how the metrics, and the time per step, change with the number of tasks."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from recall.analysis.bootstrap import Estimate
from recall.analysis.measures import FORGETTING, PERFORMANCE, TITLES
from recall.analysis.over_sequences import mean_over
from recall.analysis.scores import Scores
from recall.report.figures import layout
from recall.report.figures.bands import Band
from recall.report.figures.curve_panels import draw_bands
from recall.report.figures.figure import Figure, Panel, Scene, Series, Skipped
from recall.report.figures.groups import shown_labels
from recall.report.figures.style import TEXT
from recall.report.tables.by_length import (
    LEAST,
    ByLength,
    lengths_apart,
    milliseconds_of_step,
    scores_by_length,
)

KIND = "scaling"
TIME = "time"
_SHOWN = {
    PERFORMANCE: TITLES[PERFORMANCE],
    FORGETTING: TITLES[FORGETTING],
    TIME: "milliseconds of a step",
}


def make_figures(scene: Scene) -> Iterator[Figure | Skipped]:
    """Yield one figure, if there are sequences of several lengths."""
    groups = scores_by_length(scene.board, shown_labels(scene.collection))
    if not groups:
        yield Skipped(KIND, f"no method was trained to the end on sequences of {LEAST} lengths")
        return
    shown = {what: curves for what in _SHOWN if (curves := _curves(groups, what))}
    styles = scene.line_styles
    legend = [layout.handle(label, styles[label]) for label in groups]
    count = len(shown)
    width = min(1.0, 0.4 * count) * TEXT
    figure, axes = layout.grid(
        count, count, 1.6, legend, width=width, space=layout.Space(beside=0.45)
    )
    panels = []
    for ax, (what, curves) in zip(axes, shown.items(), strict=True):
        series: list[Series] = draw_bands(ax, curves, styles)
        lengths = sorted({int(length) for band in curves.values() for length in band.steps})
        ax.set_xscale("log")
        ax.set_xticks(lengths, [str(length) for length in lengths])
        ax.set_xticks([], minor=True)
        ax.set_xlabel("tasks", labelpad=1.5)
        if what == PERFORMANCE:
            layout.success_axis(ax, name="")
        else:
            layout.plain_ticks(ax.yaxis)
        if what == TIME:
            ax.set_ylim(bottom=0)
        ax.grid(axis="y", color="#eeeeee", linewidth=0.5)
        layout.title(ax, _SHOWN[what])
        panels.append(Panel.of(ax, _SHOWN[what], ("tasks", _SHOWN[what]), series))
    yield Figure(
        KIND, KIND, "From few tasks to many", _caption(groups, shown), figure, tuple(panels)
    )


def _caption(groups: ByLength, shown: Mapping[str, object]) -> str:
    words = (
        "Metrics at the end of sequences of different lengths, with 90 % intervals; the mean over "
        "the sequences that all methods have where there are several of one length."
    )
    if apart := lengths_apart(groups):
        words += (
            f" The sequences of {', '.join(map(str, apart))} tasks are different ones for "
            "different methods, so do not compare there."
        )
    if TIME in shown:
        words += " The time is that of a fleet, divided by its runs and their steps."
    return words


def _curves(groups: ByLength, what: str) -> dict[str, Band]:
    """Return one metric, or the time, by number of tasks."""
    found = {}
    for label, lengths in groups.items():
        points = {
            length: estimate
            for length, group in lengths.items()
            if (estimate := _estimate(group, what)) is not None
        }
        if points:
            found[label] = _band(points)
    return found


def _estimate(group: Sequence[Scores], what: str) -> Estimate | None:
    if what == TIME:
        time = milliseconds_of_step(group)
        return None if time is None else Estimate(time)
    sampled = mean_over(group, what)
    return None if sampled is None else sampled.estimate


def _band(by_length: Mapping[int, Estimate]) -> Band:
    estimates = by_length.values()
    values = np.array([estimate.value for estimate in estimates])
    bounds = [estimate.interval or (estimate.value, estimate.value) for estimate in estimates]
    low, high = np.array(bounds).T
    return Band(np.array(list(by_length), float), values, low, high, runs=2)
