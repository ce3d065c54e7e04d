"""Plot the paper's matrices of all pairs of tasks as heat maps.

Darker red is worse everywhere: success has a colour map, and forgetting its reverse.
"""

from collections.abc import Iterator

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from recall.analysis.frames import select
from recall.analysis.run_result import is_multi_task
from recall.report.figures import layout
from recall.report.figures.bands import shown_labels
from recall.report.figures.figure import Figure, Scene, Skipped
from recall.report.figures.style import INK, TINY
from recall.report.tables.table import number_text, with_minus
from recall.worlds.continual_world import TASKS

Array = np.ndarray
LEAST = 4  # fewest pairs that make a matrix
_COLOURS = "RdYlBu"  # suitable for colour-blind readers
_NOTHING = "#ececec"


def pair_matrices(scene: Scene) -> Iterator[Figure | Skipped]:
    """Plot final success on both tasks, and forgetting of the first, for all pairs of a label.

    Rows are first tasks and columns second tasks, of those that any label has.
    """
    found = {label: matrices(scene, label) for label in shown_labels(scene.collection)}
    run = np.any([np.isfinite(each[0]) for each in found.values()], axis=0)
    tasks = np.flatnonzero(run.any(axis=0) | run.any(axis=1)).tolist() if found else []
    enough = {k: v for k, v in found.items() if np.isfinite(v[0]).sum() >= LEAST}
    for label, of_label in enough.items():
        yield _pairs(label, tasks, of_label[:, tasks][:, :, tasks])
    if not enough:
        reason = f"no method has run {LEAST} or more pairs of Continual World's tasks to the end"
        yield Skipped("pair_matrices", reason)


def matrices(scene: Scene, label: str) -> Array:
    """Return final success of the first and second task, and forgetting: [3, first, second]."""
    found = np.full((3, len(TASKS), len(TASKS)), np.nan)
    scores = select(scene.analysis.scores, label=label, tasks=2)
    for _, rows in scores.groupby("sequence", sort=False):
        tasks = rows.run.iloc[0].tasks
        if set(tasks) <= set(TASKS) and not is_multi_task(rows.method.iloc[0]):
            means = rows.groupby("position")[["final", "forgotten"]].mean()
            place = TASKS.index(tasks[0]), TASKS.index(tasks[1])
            found[:, *place] = means.final[0], means.final[1], means.forgotten[0]
    return found


def _pairs(label: str, tasks: list[int], values: Array) -> Figure:
    titles = ("First task, success", "Second task, success", "First task, forgetting")
    means = [number_text(float(np.nanmean(each))) for each in values]
    wide = layout.panel_width(3)
    figure, axes = layout.grid(3, 3, wide)
    for ax, matrix, title, mean in zip(axes, values, titles, means, strict=True):
        heat_map(ax, matrix, title.endswith("forgetting"), wide)
        ax.set_xticks(range(len(tasks)), map(str, tasks))
        ax.set_yticks(range(len(tasks)), map(str, tasks))
        ax.set_xlabel("second task")
        layout.set_title(ax, title, with_minus(f"mean {mean}"), wide)
    axes[0].set_ylabel("first task")
    key = [
        Patch(facecolor="none", edgecolor="none", label=f"{number} {TASKS[number]}")
        for number in tasks
    ]
    caption = (
        f"{label} on {np.isfinite(values[0]).sum()} of {len(TASKS) ** 2} sequences of two tasks: "
        "success on the first and on the second task at the end, and forgetting of the first; "
        f"means over runs. Their means: {', '.join(means)}. Darker red is worse."
    )
    title = f"All pairs of tasks, {label}"
    return Figure.of("pair_matrices", label, title, [caption], layout.finish(figure, key))


def heat_map(axes: Axes, values: Array, lost: bool, width: float) -> None:
    """Draw cells with their numbers where they fit; `lost` if higher numbers are worse."""
    most = max(0.3, float(np.nanmax(np.abs(values), initial=0.0)))
    low, high = (-most, most) if lost else (0.0, 1.0)
    colours = colormaps[f"{_COLOURS}_r" if lost else _COLOURS]
    axes.imshow(values, cmap=colours, vmin=low, vmax=high, aspect="auto")
    axes.set_facecolor(_NOTHING)
    axes.tick_params(length=0, pad=2)
    axes.spines[:].set_visible(False)
    rows, columns = values.shape
    size = min(TINY, 72 * width / columns / 2.4)  # four letters and a margin
    for row, column in np.argwhere(np.isfinite(values)) if size > 2.5 else ():
        value = float(values[row, column])
        luminance = np.dot((0.2126, 0.7152, 0.0722), colours((value - low) / (high - low))[:3])
        # .87, 1 and so on
        text = {"0.00": "0", "1.00": "1"}.get(
            text := number_text(value), text.replace("0.", ".", 1)
        )
        axes.text(
            column, row, with_minus(text), ha="center", va="center_baseline", fontsize=size,
            color="white" if luminance < 0.5 else INK, clip_on=True,
        )  # fmt: skip
    axes.set_xticks(np.arange(0.5, columns - 1), minor=True)
    axes.set_yticks(np.arange(0.5, rows - 1), minor=True)
    axes.grid(which="minor", color="white", linewidth=0.6)
