"""Plot performance profiles: the share of runs and tasks that end above each success rate.

Agarwal et al., Deep Reinforcement Learning at the Edge of the Statistical Precipice, 2021. Means
hide how results are spread; a curve that lies above another is better at every threshold.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from recall.analysis.bootstrap import CONFIDENCE
from recall.analysis.scores import Scores
from recall.files.names import slug
from recall.report.figures import layout
from recall.report.figures.bands import Band
from recall.report.figures.compared import compared_scores
from recall.report.figures.figure import Figure, Panel, Scene, Series, Skipped
from recall.report.figures.groups import Family, shown_families
from recall.report.figures.style import COLUMN, LineStyle
from recall.report.figures.success import silence

Array = np.ndarray
KIND = "profiles"
THRESHOLDS = np.linspace(0.0, 1.0, 101)


def make_figures(scene: Scene) -> Iterator[Figure | Skipped]:
    """Yield one figure per family."""
    drawn = False
    for family in shown_families(scene.collection.with_success):
        scores, note = compared_scores(scene.board, family)
        if scores:
            drawn = True
            found = {label: profile(each) for label, each in scores.items()}
            yield _make_figure(scene, family, found, note)
    if not drawn:
        yield Skipped(KIND, "no run of more than one task was trained to its end")


def profile(scores: Sequence[Scores]) -> Band:
    """Return the share of final successes of all runs and tasks that reach each threshold."""
    above = [_tasks_above(each.final) for each in scores]
    tasks = sum(each.final.shape[1] for each in scores)
    mean = sum(counts.mean(axis=0) for counts in above) / tasks
    weights = [each.weights for each in scores if each.weights is not None]
    if len(weights) < len(scores):
        return Band(THRESHOLDS, mean, mean, mean, 1)
    draws = sum(drawn @ counts for drawn, counts in zip(weights, above, strict=True)) / tasks
    side = (1.0 - CONFIDENCE) / 2.0
    low, high = np.nanquantile(draws, (side, 1.0 - side), axis=0)
    return Band(THRESHOLDS, mean, low, high, min(map(len, above)))


def _tasks_above(final: Array) -> Array:
    """Return [run, threshold]: on how many tasks a run's final success reaches the threshold."""
    return np.sum(final[:, :, None] >= THRESHOLDS - 1e-9, axis=1, dtype=float)


def _make_figure(scene: Scene, family: Family, found: dict[str, Band], note: str) -> Figure:
    styles = scene.line_styles
    legend = [layout.handle(label, styles[label]) for label in found]
    figure, (ax,) = layout.grid(1, 1, 1.9, legend, COLUMN)
    series = [_draw(ax, label, each, styles[label]) for label, each in found.items()]
    ax.set_xlim(0.0, 1.0)
    ax.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0], ["0", "", "0.5", "", "1"])
    ax.set_xlabel("success at the end", labelpad=1.5)
    layout.success_axis(ax, name="share above")
    layout.title(ax, family.name)
    panel = Panel.of(ax, family.name, ("success at the end", "share above"), series)
    return Figure(
        KIND,
        f"{KIND}-{slug(family.name)}",
        f"Performance profiles, {family.name}",
        "The share of all runs and tasks that end with at least this success. A curve above "
        "another is better at every threshold; bands are 90 % intervals over runs."
        f"{note} {silence(family.groups)}".rstrip(),
        figure,
        (panel,),
    )


def _draw(axes: layout.Axes, label: str, found: Band, style: LineStyle) -> Series:
    if found.runs > 1:
        axes.fill_between(
            found.steps, found.low, found.high, step="pre", color=style.colour, alpha=0.16,
            linewidth=0,
        )  # fmt: skip
    axes.plot(
        found.steps, found.mean, drawstyle="steps-pre", color=style.colour, linestyle=style.dash,
        marker=style.marker, markersize=3.0, markevery=(sum(label.encode()) % 20, 25),
        markeredgecolor="white", markeredgewidth=0.4, linewidth=1.2,
    )  # fmt: skip
    return Series.of(label, style.colour, found)
