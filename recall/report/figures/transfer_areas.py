"""Plot forward transfer as areas: each task's curve against that of learning it alone."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from recall.analysis.estimates import estimate
from recall.analysis.frames import list_of, runs_of, select
from recall.analysis.measures import TRANSFER
from recall.analysis.run_result import RunResult
from recall.files.names import slug
from recall.report.figures import layout
from recall.report.figures.bands import Band, band, crowded, current, thinned_alike
from recall.report.figures.curves import NEIGHBOURS, each_sequence, points_of_stage
from recall.report.figures.figure import Figure, Scene, Skipped
from recall.report.figures.groups import Group
from recall.report.figures.style import GREY, INK, TINY, LineStyle
from recall.report.tables.table import estimate_text, number_text, with_minus

Array = np.ndarray
GAIN, LOSS, ALONE, OWN = "gain", "loss", "learned alone", "learned in the sequence"
_LOSS: dict[str, Any] = {"facecolor": "#f3f3f3", "edgecolor": "#8c8c8c", "hatch": "///////"}


def transfer_areas(scene: Scene) -> Iterator[Figure | Skipped]:
    """Yield one figure per sequence whose tasks have all been learned alone too."""
    for group in each_sequence(scene, "transfer_areas", staged=True):
        yield group if isinstance(group, Skipped) else _of_sequence(scene, group)


def _of_sequence(scene: Scene, group: Group) -> Figure | Skipped:
    scores = select(scene.analysis.scores, sequence=group.sequence, label=[*group.runs])
    reason = ""
    if scores.empty:
        reason = "has no run that was trained to its end"
    elif set(scores.position) != set(range(len(group.tasks))):
        reason = "has tasks that do not report success"
    elif scores.reference.isna().groupby(scores.label).any().all():
        missing = list_of(scores[scores.reference.isna()], "task")
        reason = (
            "needs runs of fine_tuning on each of these tasks alone, with the same settings: "
            + ", ".join(missing)
        )
    if reason:
        return Skipped("transfer_areas", f"{group.sequence} {reason}")
    lacking = set(scores.label[scores.reference.isna()])
    return _figure(scene, group, scores[~scores.label.isin(lacking)])


def _figure(scene: Scene, group: Group, scores: pd.DataFrame) -> Figure:
    points = points_of_stage(len(group.tasks), 1)
    labels = list_of(scores, "label")
    figure, axes = layout.grid(len(labels), 1, sharey=True)
    for ax, label in zip(axes, labels, strict=True):
        rows = scores[scores.label == label]
        runs = runs_of(rows)
        own = band(_curves(scene, runs, points), group.stage_ends)
        alone = [_alone(scene, runs[0], task, points) for task in group.tasks]
        stages = zip(group.stages(), alone, strict=True)
        _draw_areas(ax, [_stage(own, *each) for each in stages], scene.line_styles[label])
        layout.steps_axis(
            ax, group.total_steps, group.steps_per_task, layout.panel_width(1), labelled=False
        )
        layout.value_axis(ax, "rate")
        ax.set_ylim(-0.03, 1.25)
        _write_transfer(ax, group, rows.groupby("position").transfer.mean())
        mean = estimate(rows, TRANSFER)
        words = f"forward transfer {estimate_text(mean.estimate if mean else None)}"
        layout.set_title(ax, scene.names[label], with_minus(words))
    _name_tasks(axes[-1], group)
    figure.supylabel("success")
    few = crowded(runs_of(scores), points)
    caption = (
        "Success on the task in training (colour) and of a network that learns it alone (thin "
        f"line), {layout.short_number(group.steps_per_task, group.steps_per_task)} steps each; "
        "means over runs. Coloured areas are gains, hatched ones losses. The number above a task "
        "is its forward transfer, the area over what learning alone leaves to gain; that of the "
        "method has a 90 % bootstrap interval, for which seeds and the runs alone are resampled."
    )
    return Figure(
        "transfer_areas",
        f"transfer_areas-{slug(group.sequence)}",
        f"Forward transfer on {group.sequence}",
        f"{caption} {NEIGHBOURS if few else ''}".rstrip(),
        layout.finish(figure, axes, 0.78, _legend()),
    )


def _legend() -> list[Line2D | Patch]:
    return [
        Line2D([], [], color=INK, linewidth=0.6, label=ALONE),
        Line2D([], [], color=GREY, linewidth=1.4, label=OWN),
        Patch(facecolor=GREY, alpha=0.35, linewidth=0, label=GAIN),
        Patch(linewidth=0, label=LOSS, **_LOSS),
    ]


def _alone(scene: Scene, run: RunResult, task: str, points: int) -> Band:
    """Return success on a task learned alone; of longer runs only the part that counts."""
    runs = scene.collection.references(run, task).runs
    return band(_curves(scene, runs, points, run.steps_per_task))


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
    area: dict[str, Any] = {"interpolate": True, "linewidth": 0}
    axes.fill_between(
        x, mine, other, where=mine >= other, color=style.colour, alpha=0.3, label=GAIN, **area
    )
    axes.fill_between(x, mine, other, where=mine < other, label=LOSS, **_LOSS, **area)
    axes.plot(x, other, color=INK, linewidth=0.6, label=ALONE)
    axes.plot(x, mine, color=style.colour, linewidth=1.1, label=OWN)


def _write_transfer(axes: Axes, group: Group, transfers: Mapping[int, float]) -> None:
    """Write the forward transfer of every task above its curves."""
    for task, start, end in group.stages():
        if transfers[task] == transfers[task]:
            number = number_text(transfers[task])
            sign = "+" if float(number) > 0 else ""
            axes.text(
                (start + end) / 2, 1.06, with_minus(sign + number),
                ha="center", va="bottom", color=GREY, clip_on=True,
                fontsize=TINY if len(group.tasks) < 15 else 4.8,
            )  # fmt: skip


def _name_tasks(axes: Axes, group: Group) -> None:
    """Write the name of every task below its stage, instead of steps."""
    middles = [(start + end) / 2 for _, start, end in group.stages()]
    many = len(group.tasks) > 6
    axes.set_xticks(middles, group.tasks, fontsize=TINY if many else None)
    if many:
        for name in axes.get_xticklabels():
            name.set(rotation=38, rotation_mode="anchor", ha="right")
    axes.tick_params(axis="x", length=0)
