"""How the metrics change with the number of tasks in a sequence."""

from collections.abc import Iterator, Mapping

import numpy as np

from recall.report.figures import layout
from recall.report.figures.bands import Band
from recall.report.figures.base import Panel, Scene, Series, Sketch, Skipped
from recall.report.figures.groups import main_labels
from recall.report.figures.lines import draw_bands
from recall.report.figures.style import TEXT
from recall.results.intervals import Sampled, mean_of
from recall.results.scores import FORGETTING, PERFORMANCE, ScoreBoard

KIND = "scaling"
LEAST = 3  # lengths that make a curve
TITLES = {PERFORMANCE: "average performance", FORGETTING: "forgetting"}


def sketches(scene: Scene) -> Iterator[Sketch | Skipped]:
    """One figure, if there are sequences of several lengths."""
    labels = main_labels(scene.collection)
    found = {metric: _curves(scene.board, labels, metric) for metric in TITLES}
    if not found[PERFORMANCE]:
        yield Skipped(KIND, f"no method was trained to the end on sequences of {LEAST} lengths")
        return
    styles = scene.looks
    legend = [layout.handle(label, styles[label]) for label in found[PERFORMANCE]]
    figure, axes = layout.grid(2, 2, 1.6, legend, width=0.8 * TEXT, space=layout.Space(beside=0.45))
    panels = []
    for ax, (metric, curves) in zip(axes, found.items(), strict=True):
        series: list[Series] = draw_bands(ax, curves, styles)
        lengths = sorted({int(length) for band in curves.values() for length in band.steps})
        ax.set_xscale("log")
        ax.set_xticks(lengths, [str(length) for length in lengths])
        ax.set_xticks([], minor=True)
        ax.set_xlabel("tasks", labelpad=1.5)
        if metric == PERFORMANCE:
            layout.success_axis(ax, name="")
        ax.grid(axis="y", color="#eeeeee", linewidth=0.5)
        layout.title(ax, TITLES[metric])
        panels.append(Panel.of(ax, TITLES[metric], ("tasks", TITLES[metric]), series))
    yield Sketch(
        KIND,
        KIND,
        "From few tasks to many",
        "Metrics at the end of sequences of different lengths, with 90 % intervals; the mean over "
        "sequences where there are several of one length.",
        figure,
        tuple(panels),
    )


def _curves(board: ScoreBoard, labels: list[str], metric: str) -> Mapping[str, Band]:
    """A metric by number of tasks, of the labels that have enough of them."""
    found = {}
    for label in labels:
        by_length: dict[int, list[Sampled]] = {}
        for (other, _), scores in board.scores.items():
            sampled = scores.metric(metric)
            if other == label and sampled is not None:
                by_length.setdefault(len(scores.tasks), []).append(sampled)
        if len(by_length) >= LEAST:
            found[label] = _band({n: mean_of(by_length[n]) for n in sorted(by_length)})
    return found


def _band(by_length: Mapping[int, Sampled]) -> Band:
    estimates = [sampled.estimate for sampled in by_length.values()]
    values = np.array([estimate.value for estimate in estimates])
    bounds = [estimate.interval or (estimate.value, estimate.value) for estimate in estimates]
    low, high = np.array(bounds).T
    return Band(np.array(list(by_length), float), values, low, high, runs=2)
