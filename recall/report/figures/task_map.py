"""Plot method by task heat maps of long sequences: what is kept, and what is forgotten."""

from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.axes import Axes

from recall.analysis.scores import Scores
from recall.analysis.together import learnt_together
from recall.files.names import slug
from recall.report.figures import layout
from recall.report.figures.figure import Figure, Panel, Scene, Series, Skipped, plain
from recall.report.figures.groups import Group, shown_families
from recall.report.figures.style import GREY, SMALL, TEXT, TINY
from recall.report.figures.success import NAMED_STAGES
from recall.report.tables.table import number_text

Array = np.ndarray
KIND = "task_map"
_COLOURS = "RdYlBu"  # as in the matrices of pairs: dark red is worse


def make_figures(scene: Scene) -> Iterator[Figure | Skipped]:
    """Yield one figure per long sequence."""
    drawn = False
    for family in shown_families(scene.collection.with_success):
        for group in family.groups[: scene.detailed]:
            scores = scene.board.among(list(group.runs), [group.sequence])
            if len(group.tasks) >= NAMED_STAGES and scores:
                drawn = True
                yield _make_figure(group, scores)
    if not drawn:
        yield Skipped(KIND, f"no sequence of {NAMED_STAGES} or more tasks was trained to its end")


def _make_figure(group: Group, scores: Sequence[Scores]) -> Figure:
    labels, tasks = [each.label for each in scores], scores[0].tasks
    final = np.stack([each.final.mean(axis=0) for each in scores])
    lost = np.stack([_lost(each) for each in scores])
    most = float(np.nanmax(np.abs(lost), initial=0.3))
    longest = max(layout.text_width(label, SMALL) for label in labels)
    names = max(layout.text_width(task, TINY) for task in tasks)
    space = layout.Space(left=longest + 0.16, right=0.1, above=0.26, below=0.12 + names, under=0.1)
    figure, axes = layout.grid(2, 1, 0.2 * len(labels), width=TEXT, space=space)
    panels = []
    for ax, title, values, colours, limits in (
        (axes[0], "success at the end", final, _COLOURS, (0.0, 1.0)),
        (axes[1], "forgetting", lost, f"{_COLOURS}_r", (-most, most)),
    ):
        _draw(ax, values, colours, limits)
        ax.set_yticks(range(len(labels)), labels)
        layout.title(ax, title)
        rows = [
            Series(label, GREY, plain(range(len(row))), plain(row))
            for label, row in zip(labels, values, strict=True)
        ]
        panels.append(Panel.of(ax, title, ("task", "method"), rows, columns=tasks))
    axes[0].set_xticks([])
    axes[1].set_xticks(range(len(tasks)), tasks, rotation=90, fontsize=TINY)
    return Figure(
        KIND,
        f"{KIND}-{slug(group.sequence)}",
        f"Every task of {group.sequence}, by method",
        "Success on each task at the end of the sequence, and how much of it was lost since the "
        "task was learnt; means over runs. Darker red is worse.",
        figure,
        tuple(panels),
    )


def _lost(scores: Scores) -> Array:
    """Return the forgetting of each task; tasks that are learnt together have none."""
    lost: Array = (scores.trained - scores.final).mean(axis=0)
    return np.full_like(lost, np.nan) if learnt_together(scores.method) else lost


def _draw(axes: Axes, values: Array, colours: str, limits: tuple[float, float]) -> None:
    axes.imshow(values, cmap=colours, vmin=limits[0], vmax=limits[1], aspect="auto")
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    low, high = limits
    for (row, column), value in np.ndenumerate(values):
        if np.isnan(value):
            continue
        share = (value - low) / (high - low)
        axes.text(
            column, row, number_text(float(value)), ha="center", va="center", fontsize=TINY,
            color="white" if share < 0.15 or share > 0.85 else "#222222",
        )  # fmt: skip
