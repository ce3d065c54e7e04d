"""Plot forward transfer as areas: each task's curve against that of learning it alone."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from recall.analysis.run_result import RunResult
from recall.analysis.scores import Scores
from recall.files.names import slug
from recall.report.figures import layout
from recall.report.figures.bands import Band, band
from recall.report.figures.curve_panels import thinned_alike
from recall.report.figures.figure import Figure, Panel, Scene, Series, Skipped, plain
from recall.report.figures.groups import Group
from recall.report.figures.stages import (
    NEIGHBOURS,
    crowded,
    current,
    points_of_stage,
)
from recall.report.figures.style import GREY, INK, TINY, LineStyle
from recall.report.figures.success import each_sequence
from recall.report.tables.table import estimate_text, number_text

Array = np.ndarray
KIND = "transfer_areas"
GAIN, LOSS = "gain", "loss"  # mark the areas
_LOSS, _HATCH = "#8c8c8c", "///////"


def make_figures(scene: Scene) -> Iterator[Figure | Skipped]:
    """Yield one figure per sequence whose tasks have all been learnt alone too."""
    for group in each_sequence(scene, KIND, staged=True):
        yield group if isinstance(group, Skipped) else _for_sequence(scene, group)


def _for_sequence(scene: Scene, group: Group) -> Figure | Skipped:
    scored = [scene.board.get(label, group.sequence) for label in group.runs]
    scores = [found for found in scored if found is not None and found.tasks == group.tasks]
    if not scores and any(scored):
        return Skipped(KIND, f"{group.sequence} has tasks that do not report success")
    if not scores:
        return Skipped(KIND, f"{group.sequence} has no run that was trained to its end")
    comparable = [found for found in scores if not found.missing_references]
    if not comparable:
        missing = scores[0].missing_references
        return Skipped(
            KIND,
            f"{group.sequence} needs runs of fine_tuning on each of these tasks alone, with the "
            f"same settings: {', '.join(missing)}",
        )
    return _make_figure(scene, group, comparable)


def _make_figure(scene: Scene, group: Group, scores: list[Scores]) -> Figure:
    space = layout.Space(above=0.24, under=0.06)
    figure, axes = layout.grid(len(scores), 1, 0.78, _legend(), space=space)
    points = points_of_stage(axes[0], len(group.tasks))
    few = crowded([run for found in scores for run in found.runs], points)
    panels = []
    for index, (ax, found) in enumerate(zip(axes, scores, strict=True)):
        style = scene.line_styles[found.label]
        references = [_reference(scene, found, task, points) for task in range(len(group.tasks))]
        own = band(_curves(scene, found.runs, points), group.stage_ends)
        _draw_areas(
            ax,
            [_stage(own, *stage) for stage in zip(group.stages(), references, strict=True)],
            style,
        )
        for task, start, end in group.stages():
            _say(ax, found, task, (start + end) / 2, group)
        layout.steps_axis(
            ax, group.total_steps, group.steps_per_task, labelled=index == len(scores) - 1
        )
        layout.success_axis(ax)
        estimate = found.forward_transfer.estimate if found.forward_transfer else None
        words = f"forward transfer {estimate_text(estimate)}".replace("-", "\N{MINUS SIGN}")
        layout.title(ax, found.label, words)
        panels.append(_panel(ax, found.label, own, references, group, style))
    return Figure(
        KIND,
        f"{KIND}-{slug(group.sequence)}",
        f"Forward transfer on {group.sequence}",
        "Success on the task in training (colour) and of a network that learns it alone (thin "
        "line). Coloured areas are gains, hatched ones losses; the numbers are the forward "
        "transfer of each task, the area over what the reference leaves to gain. Tasks: "
        f"{', '.join(group.tasks)}.{NEIGHBOURS if few else ''}",
        figure,
        tuple(panels),
    )


def _legend() -> list[layout.Handle]:
    plain_line = {"marker": "", "markersize": 0}
    return [
        layout.handle("learnt alone", LineStyle(INK, ""), linewidth=0.6, **plain_line),
        layout.handle("learnt in the sequence", LineStyle(GREY, ""), **plain_line),
        layout.swatch("gain", facecolor=GREY, alpha=0.35, linewidth=0),
        layout.swatch("loss", facecolor="#f3f3f3", edgecolor=_LOSS, hatch=_HATCH, linewidth=0),
    ]


def _reference(scene: Scene, scores: Scores, task: int, points: int) -> Band:
    """Return success on a task learnt alone; of longer runs only the part that counts."""
    runs = scene.collection.references(scores.runs[0], scores.tasks[task]).runs
    return band(_curves(scene, runs, points, scores.steps_per_task))


def _curves(
    scene: Scene, runs: Sequence[RunResult], points: int, until: float = np.inf
) -> list[tuple[Array, Array]]:
    """Return (steps, success) of each run on the task in training."""
    curves = []
    for run in runs:
        part = run.steps <= until
        values = current(run, run.steps, scene.successes(run))
        curves.append((run, run.steps[part], values[part]))
    return thinned_alike(curves, points)


def _stage(own: Band, stage: tuple[int, int, int], reference: Band) -> Array:
    """Return [3, step] steps, own and reference success of one stage, with a gap at the end."""
    _, start, end = stage
    own = own.within(start, end)
    if not len(own.steps) or not len(reference.steps):
        return np.zeros((3, 0))
    steps = np.unique(np.concatenate([own.steps, reference.steps + start]))
    steps = steps[steps <= own.steps[-1]]
    mine = np.interp(steps, own.steps, own.mean)
    other = np.interp(steps, reference.steps + start, reference.mean)
    return np.concatenate([[steps, mine, other], np.full((3, 1), np.nan)], axis=1)


def _draw_areas(axes: Axes, stages: list[Array], style: LineStyle) -> None:
    """Draw both curves and the area between them."""
    x, mine, other = np.concatenate(stages, axis=1)
    area: Any = {"interpolate": True, "linewidth": 0}
    axes.fill_between(
        x, mine, other, where=mine >= other, color=style.colour, alpha=0.3, gid=GAIN, **area
    )
    axes.fill_between(
        x, mine, other, where=mine < other, facecolor="#f3f3f3", edgecolor=_LOSS, hatch=_HATCH,
        gid=LOSS, **area,
    )  # fmt: skip
    axes.plot(x, other, color=INK, linewidth=0.6)
    axes.plot(x, mine, color=style.colour, linewidth=1.1)


def _say(axes: Axes, scores: Scores, task: int, x: float, group: Group) -> None:
    if scores.forward_transfer_by_task is None:
        return
    value = scores.forward_transfer_by_task[task].value
    if value == value:
        number = number_text(value)
        sign = "+" if float(number) > 0 else ""
        axes.annotate(
            (sign + number).replace("-", "\N{MINUS SIGN}"), (x, 0.0), (0, 1.5),
            textcoords="offset points", ha="center",
            fontsize=TINY if len(group.tasks) < 15 else 4.8,
            color=GREY, bbox={"facecolor": "white", "alpha": 0.6, "linewidth": 0, "pad": 0.4},
        )  # fmt: skip


def _panel(
    axes: Axes, label: str, own: Band, references: list[Band], group: Group, style: LineStyle
) -> Panel:
    steps = [
        band.steps + start for band, (_, start, _) in zip(references, group.stages(), strict=True)
    ]
    means = [band.mean for band in references]
    alone = Series("learnt alone", INK, plain(np.concatenate(steps)), plain(np.concatenate(means)))
    series = [Series.of(label, style.colour, own), alone]
    return Panel.of(axes, label, ("steps", "success"), series)
