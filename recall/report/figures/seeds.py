"""Plot the spread of runs: every run's metrics as a dot, with means and intervals."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from recall.analysis.bootstrap import Estimate
from recall.analysis.measures import METRICS, PERFORMANCE, TITLES
from recall.analysis.over_sequences import mean_over
from recall.analysis.scores import Scores
from recall.files.names import slug
from recall.report.figures import layout
from recall.report.figures.compared import compared_scores
from recall.report.figures.figure import Figure, Panel, Scene, Series, Skipped, plain
from recall.report.figures.groups import Family, shown_families
from recall.report.figures.style import TEXT, LineStyle
from recall.report.figures.success import silence

Array = np.ndarray
KIND = "seeds"
RUNS, MEAN = "runs", "mean"  # mark the dots


@dataclass(frozen=True)
class _Row:
    label: str
    values: Array  # one metric of every run
    estimate: Estimate


def make_figures(scene: Scene) -> Iterator[Figure | Skipped]:
    """Yield one figure per family."""
    drawn = False
    for family in shown_families(scene.collection.with_success):
        scores, note = compared_scores(scene.board, family)
        found = {name: _rows(scores, name) for name in METRICS}
        if found[PERFORMANCE]:
            drawn = True
            rows = {name: each for name, each in found.items() if each}
            yield _make_figure(scene, family, rows, note)
    if not drawn:
        yield Skipped(KIND, "no run of more than one task was trained to its end")


def _rows(compared: dict[str, list[Scores]], metric: str) -> list[_Row]:
    found = []
    for label, scores in compared.items():
        mean = mean_over(scores, metric)
        if mean is not None:
            every = [one.by_run(metric) for one in scores]
            values = np.concatenate([one for one in every if one is not None])
            found.append(_Row(label, values, mean.estimate))
    return found


def _make_figure(scene: Scene, family: Family, rows: dict[str, list[_Row]], note: str) -> Figure:
    styles = scene.line_styles
    labels = [row.label for row in rows[PERFORMANCE]]
    longest = max(layout.text_width(label, 7.0) for label in labels)
    space = layout.Space(left=min(2.6, longest + 0.2), beside=0.2, above=0.24)
    width = TEXT if len(rows) > 1 else 4.5
    figure, axes = layout.grid(
        len(rows), len(rows), 0.2 + 0.27 * len(labels), width=width, space=space
    )
    panels = []
    for index, (ax, (metric, found)) in enumerate(zip(axes, rows.items(), strict=True)):
        series = [_draw_row(ax, row, labels.index(row.label), styles[row.label]) for row in found]
        ax.set_ylim(len(labels) - 0.4, -0.6)
        ax.set_yticks(range(len(labels)), labels if index == 0 else [])
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.grid(axis="x", color="#eeeeee", linewidth=0.5)
        layout.plain_ticks(ax.xaxis)
        _x_limits(ax, metric)
        layout.title(ax, TITLES[metric])
        panels.append(Panel.of(ax, TITLES[metric], (TITLES[metric], "method"), series, (), True))
    return Figure(
        KIND,
        f"{KIND}-{slug(family.name)}",
        f"Every run on {family.name}",
        "A dot is a run; below the dots, their mean and its 90 % interval."
        f"{note} {silence(family.groups)}".rstrip(),
        figure,
        tuple(panels),
    )


def _x_limits(axes: Axes, metric: str) -> None:
    if metric == PERFORMANCE:
        axes.set_xlim(-0.03, 1.03)
    else:
        axes.axvline(0.0, color="#bbbbbb", linewidth=0.7, zorder=0.6)
        axes.margins(x=0.06)


def _draw_row(axes: Axes, row: _Row, place: int, style: LineStyle) -> Series:
    order = np.argsort(np.argsort(row.values))
    # Runs are above, their mean below. Runs with similar values are set apart vertically.
    offset = -0.13 + 0.1 * np.array([(-1.0, 0.3, 1.0, -0.3)[number % 4] for number in order])
    axes.scatter(
        row.values, place + offset, s=9, color=style.colour, alpha=0.5, linewidth=0, gid=RUNS
    )
    below = place + 0.17
    if row.estimate.interval is not None:
        axes.plot(
            row.estimate.interval, [below, below], color=style.colour, linewidth=1.6, zorder=3,
            solid_capstyle="butt",
        )  # fmt: skip
    axes.scatter(
        [row.estimate.value], [below], s=13, marker="D", color=style.colour, edgecolor="white",
        linewidth=0.5, zorder=4, gid=MEAN,
    )  # fmt: skip
    low, high = row.estimate.interval or (row.estimate.value, row.estimate.value)
    return Series(
        row.label, style.colour, plain([row.estimate.value]), [float(place)], plain([low]),
        plain([high]), plain(row.values),
    )  # fmt: skip
