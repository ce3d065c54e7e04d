"""Plot the paper's three matrices of all pairs of tasks, for every method that has them.

Rows are first tasks and columns second tasks, of those that any method has. The first two matrices
share a colour map and the third uses its reverse: darker red is worse everywhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from recall.analysis.together import learnt_together
from recall.files.names import slug
from recall.report.figures import layout
from recall.report.figures.figure import Figure, Panel, Scene, Series, Skipped, plain
from recall.report.figures.groups import pair_of, shown_labels
from recall.report.figures.style import GREY, SMALL, TEXT, TINY
from recall.report.tables.table import number_text
from recall.worlds.continual_world import TASKS

Array = np.ndarray
KIND = "pair_matrices"
LEAST = 4  # fewest pairs that make a matrix
_COLOURS = "RdYlBu"  # dark red at the bad end; suitable for colour-blind readers
_NOTHING = "#ececec"


@dataclass(frozen=True)
class _Matrix:
    title: str
    tasks: list[int]  # their numbers
    values: Array  # [first, second], NaN for pairs that were not run
    colours: str
    limits: tuple[float, float]


def make_figures(scene: Scene) -> Iterator[Figure | Skipped]:
    """Yield one figure per label with enough pairs."""
    found = {label: matrices(scene, label) for label in shown_labels(scene.collection)}
    run = np.any([np.isfinite(first) for first, _, _ in found.values()], axis=0)
    tasks = np.flatnonzero(run.any(axis=0) | run.any(axis=1)).tolist() if found else []
    drawn = False
    for label, of_label in found.items():
        if np.isfinite(of_label[0]).sum() >= LEAST:
            drawn = True
            yield _make_figure(label, tasks, *(each[np.ix_(tasks, tasks)] for each in of_label))
    if not drawn:
        reason = f"no method has run {LEAST} or more pairs of Continual World's tasks to the end"
        yield Skipped(KIND, reason)


def matrices(scene: Scene, label: str) -> tuple[Array, Array, Array]:
    """Return [first, second] final success of both tasks, and forgetting of the first."""
    found = np.full((3, len(TASKS), len(TASKS)), np.nan)
    for (other, _), scores in scene.board.scores.items():
        pair = pair_of(scores.tasks)
        if other == label and pair is not None and not learnt_together(scores.method):
            final, trained = scores.final.mean(axis=0), scores.trained.mean(axis=0)
            found[:, pair[0], pair[1]] = final[0], final[1], trained[0] - final[0]
    return found[0], found[1], found[2]


def _make_figure(
    label: str, tasks: list[int], first: Array, second: Array, forgotten: Array
) -> Figure:
    most = max(0.3, float(np.nanmax(np.abs(forgotten))))
    shown = (
        _Matrix("First task, success", tasks, first, _COLOURS, (0.0, 1.0)),
        _Matrix("Second task, success", tasks, second, _COLOURS, (0.0, 1.0)),
        _Matrix("First task, forgetting", tasks, forgotten, f"{_COLOURS}_r", (-most, most)),
    )
    space = layout.Space(left=0.36, right=0.06, above=0.3, below=0.92, beside=0.26)
    side = (TEXT - space.left - space.right - 2 * space.beside) / 3
    figure, axes = layout.grid(3, 3, side, space=space)
    for ax, matrix in zip(axes, shown, strict=True):
        _draw(ax, matrix)
    axes[0].set_ylabel("first task", labelpad=1.5)
    _key(axes[0], tasks)
    names = tuple(TASKS[number] for number in tasks)
    panels = [
        Panel.of(ax, matrix.title, ("second task", "first task"), _rows(matrix), names)
        for ax, matrix in zip(axes, shown, strict=True)
    ]
    means = ", ".join(number_text(float(np.nanmean(matrix.values))) for matrix in shown)
    return Figure(
        KIND,
        f"{KIND}-{slug(label)}",
        f"All pairs of tasks, {label}",
        f"{label} on {np.isfinite(first).sum()} of {len(TASKS) ** 2} sequences of two tasks: "
        "success on the first and on the second task at the end, and forgetting of the first. "
        f"Means: {means}. Darker red is worse.",
        figure,
        tuple(panels),
    )


def _rows(matrix: _Matrix) -> list[Series]:
    columns = plain(np.arange(len(matrix.tasks)))
    return [
        Series(TASKS[number], GREY, columns, plain(row))
        for number, row in zip(matrix.tasks, matrix.values, strict=True)
    ]


def _draw(axes: Axes, matrix: _Matrix) -> None:
    axes.set_facecolor(_NOTHING)
    image = axes.imshow(
        matrix.values, cmap=matrix.colours, vmin=matrix.limits[0], vmax=matrix.limits[1]
    )
    count = len(matrix.tasks)
    axes.set_xticks(range(count), [str(number) for number in matrix.tasks])
    axes.set_yticks(range(count), [str(number) for number in matrix.tasks])
    axes.tick_params(length=0, pad=2)
    axes.spines[:].set_visible(False)
    axes.set_xticks(np.arange(0.5, count - 1), minor=True)
    axes.set_yticks(np.arange(0.5, count - 1), minor=True)
    axes.grid(which="minor", color="white", linewidth=0.6)
    axes.set_xlabel("second task", labelpad=1.5)
    mean = number_text(float(np.nanmean(matrix.values)))
    layout.title(axes, matrix.title, f"mean {mean}")
    for (row, column), value in np.ndenumerate(matrix.values):
        if np.isfinite(value):
            dark = _luminance(image.cmap(image.norm(value))) < 0.5
            axes.text(
                column, row, _short(float(value)), ha="center", va="center_baseline",
                fontsize=TINY, color="white" if dark else "#222222",
            )  # fmt: skip


def _luminance(colour: Any) -> float:
    return 0.2126 * colour[0] + 0.7152 * colour[1] + 0.0722 * colour[2]


def _short(value: float) -> str:
    """Format with two digits and no leading zero: .87, 1 and so on."""
    text = number_text(value).replace("-", "\N{MINUS SIGN}")
    return {"0.00": "0", "1.00": "1"}.get(text, text.replace("0.", ".", 1))


def _key(axes: Axes, tasks: list[int]) -> None:
    """Write which number is which task below the matrices, in as many columns as fit."""
    figure = axes.get_figure(root=True)
    if figure is None:
        return
    width, height = figure.get_size_inches()
    left = axes.get_position().x0
    for place, number in enumerate(tasks):
        column, row = divmod(place, 2)
        figure.text(
            left + column * (1.32 / width), (0.38 - 0.15 * row) / height,
            f"$\\bf{{{number}}}$ {TASKS[number]}", fontsize=SMALL,
        )  # fmt: skip
