"""Plot forward transfer as areas: each task's curve against that of learning it alone."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from recall.analysis.estimates import estimate
from recall.analysis.frames import list_of, select
from recall.analysis.metrics import TRANSFER
from recall.analysis.run_result import RunResult
from recall.report.figures import layout
from recall.report.figures.bands import NEIGHBOURS, Band, Group, band, current, thinned
from recall.report.figures.curves import drawn_sequences, points_of_stage
from recall.report.figures.figure import Figure, Scene, Skipped
from recall.report.figures.layout import GREY, INK, TINY, LineStyle
from recall.report.tables.pivot import estimate_text, number_text, with_minus

Array = np.ndarray
GAIN, LOSS, ALONE, OWN = "gain", "loss", "learned alone", "learned in the sequence"
_LOSS: dict[str, Any] = {"facecolor": "#f3f3f3", "edgecolor": "#8c8c8c", "hatch": "///////"}


def transfer_areas(scene: Scene) -> Iterator[Figure | Skipped]:
    """Yield one figure per sequence whose tasks have all been learned alone too."""
    groups, skipped = drawn_sequences(scene, "transfer_areas", staged=True)
    for group in groups:
        scores = select(scene.analysis.scores, sequence=group.sequence, label=[*group.runs])
        lacking = scores[scores.reference.isna()]
        known = scores[~scores.label.isin(set(lacking.label))]
        if scores.empty:
            reason = "has no run that was trained to its end"
        elif set(scores.position) != set(range(len(group.tasks))):
            reason = "has tasks that do not report success"
        elif known.empty:
            tasks = ", ".join(list_of(lacking, "task"))
            reason = "needs runs of fine_tuning on each of these tasks alone, with the same "
            reason += f"settings: {tasks}"
        else:
            yield _figure(scene, group, known)
            continue
        yield Skipped("transfer_areas", f"{group.sequence} {reason}")
    yield from skipped


def _figure(scene: Scene, group: Group, scores: pd.DataFrame) -> Figure:
    points, wide = points_of_stage(len(group.tasks), 1), layout.panel_width(1)
    labels = list_of(scores, "label")
    figure, axes = layout.grid(len(labels), 1, 0.78, sharey=True)
    for ax, label in zip(axes, labels, strict=True):
        rows = scores[scores.label == label]
        runs = list_of(rows, "run")
        own = band(_curves(scene, runs, points), group.ends)
        parts = []
        for end, task in zip(group.ends, group.tasks, strict=True):
            references = scene.analysis.references[label, group.sequence, task].runs
            # Of longer runs only the part that counts.
            alone = band(_curves(scene, references, points, group.steps_per_task))
            parts.append(_stage(own, end - group.steps_per_task, end, alone))
        _draw_areas(ax, np.concatenate(parts, axis=1), scene.line_styles[label])
        layout.steps_axis(ax, group.ends[-1], group.steps_per_task, wide, labelled=False)
        layout.value_axis(ax, "rate")
        ax.set_ylim(-0.03, 1.25)
        size = min(TINY, 72 * wide / len(group.tasks) / 3.3)  # letters that fit a stage
        transfers = rows.groupby("position").transfer.mean()
        for place, transfer in transfers.dropna().items():
            number = number_text(transfer)
            sign = "+" if float(number) > 0 else ""
            ax.text(
                group.middles[place], 1.06, with_minus(sign + number), ha="center", va="bottom",
                color=GREY, clip_on=True, fontsize=size,
            )  # fmt: skip
        mean = estimate(rows, TRANSFER)
        words = f"forward transfer {estimate_text(mean.estimate if mean else None)}"
        layout.set_title(ax, f"{scene.names[label]}: {with_minus(words)}")
    many = len(group.tasks) > 6
    axes[-1].set_xticks(group.middles, group.tasks, fontsize=TINY if many else None)
    for name in axes[-1].get_xticklabels() if many else ():
        name.set(rotation=38, rotation_mode="anchor", ha="right")
    axes[-1].tick_params(axis="x", length=0)
    figure.supylabel("success")
    legend = [
        Line2D([], [], color=INK, linewidth=0.6, label=ALONE),
        Line2D([], [], color=GREY, linewidth=1.4, label=OWN),
        Patch(facecolor=GREY, alpha=0.35, linewidth=0, label=GAIN),
        Patch(linewidth=0, label=LOSS, **_LOSS),
    ]
    caption = (
        "Success on the task in training (colour) and of a network that learns it alone (thin "
        f"line), {layout.short_number(group.steps_per_task, group.steps_per_task)} steps each. "
        "Coloured areas are gains, hatched ones losses. The number above a task is its forward "
        "transfer, the area over what learning alone leaves to gain; that of the method has a "
        "90 % bootstrap interval, for which seeds and the runs alone are resampled."
    )
    title = f"Forward transfer on {group.sequence}"
    drawn = layout.finish(figure, legend)
    return Figure.of("transfer_areas", group.sequence, title, [caption, NEIGHBOURS], drawn)


def _curves(
    scene: Scene, runs: Sequence[RunResult], points: int, until: float = np.inf
) -> list[tuple[Array, Array]]:
    """Return (steps, success) of each run on the task in training."""
    values = [(run, current(run, run.steps, scene.successes(run))) for run in runs]
    curves = [(run, run.steps[run.steps <= until], own[run.steps <= until]) for run, own in values]
    return thinned(curves, points)


def _stage(own: Band, start: int, end: int, alone: Band) -> Array:
    """Return [3, step] steps, own and reference success of one stage, with a gap at the end."""
    inside = (own.steps > start) & (own.steps <= end)
    if not inside.any() or not len(alone.steps):
        return np.zeros((3, 0))
    x, y = own.steps[inside], own.mean[inside]
    steps = np.unique(np.concatenate([x, alone.steps + start]))
    steps = steps[steps <= x[-1]]
    mine = np.interp(steps, x, y)
    other = np.interp(steps, alone.steps + start, alone.mean)
    return np.concatenate([[steps, mine, other], np.full((3, 1), np.nan)], axis=1)


def _draw_areas(axes: Axes, curves: Array, style: LineStyle) -> None:
    """Draw both curves and the area between them."""
    x, mine, other = curves
    gain: dict[str, Any] = {"color": style.colour, "alpha": 0.3, "label": GAIN}
    loss = {**_LOSS, "label": LOSS}
    for where, look in ((mine >= other, gain), (mine < other, loss)):
        axes.fill_between(x, mine, other, where=where, interpolate=True, linewidth=0, **look)
    axes.plot(x, other, color=INK, linewidth=0.6, label=ALONE)
    axes.plot(x, mine, color=style.colour, linewidth=1.1, label=OWN)
