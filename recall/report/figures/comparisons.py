"""Plot methods side by side at the end: every run as a dot, and all pairs of tasks as heat maps."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from recall.analysis.estimates import by_run, estimate, shared_sequences
from recall.analysis.frames import select
from recall.analysis.metrics import METRICS, PERFORMANCE, TITLES
from recall.analysis.run_result import is_multi_task
from recall.report.figures import layout
from recall.report.figures.bands import Group, shown_labels, silence
from recall.report.figures.curves import drawn_families
from recall.report.figures.figure import Figure, Scene, Skipped
from recall.report.figures.layout import INK, TEXT, TINY
from recall.report.tables.pivot import by_label, number_text, with_minus
from recall.worlds.continual_world import TASKS

RUNS, MEAN = "runs", "mean"  # label the dots


def _compared(scene: Scene, groups: list[Group]) -> tuple[dict[str, pd.DataFrame], str]:
    """Return the scores of each label over the sequences that all have, and a note for captions.

    A method that was run on the easy sequences alone would look better than one that was run on
    all.
    """
    labels = [label for group in groups for label in group.runs]
    sequences = [group.sequence for group in groups]
    rows = select(scene.analysis.scores, label=labels, sequence=sequences)
    found = by_label(rows)
    shared = shared_sequences(found.values())
    if all(each.sequence.nunique() == len(shared) for each in found.values()):
        return found, ""
    if not shared:
        return found, "The methods were run on different sequences, so they do not compare."
    names = ", ".join(name for name in sequences if name in shared)
    kept = {label: select(each, sequence=shared) for label, each in found.items()}
    return kept, f"Means are over the sequences that every method has: {names}."


def seeds(scene: Scene) -> Iterator[Figure | Skipped]:
    """Plot every run's metrics as a dot, with means and intervals, for each family."""
    found, skipped = drawn_families(scene, "seeds", scene.collection.with_success)
    compared = {name: _compared(scene, groups) for name, groups in found.items()}
    for name, (rows, note) in compared.items():
        if rows:
            yield _seeds(scene, name, rows, [note, silence(found[name])])
    if not any(rows for rows, _ in compared.values()):
        skipped = [Skipped("seeds", "no run of more than one task was trained to its end")]
    yield from skipped


def _seeds(scene: Scene, family: str, rows: Mapping[str, pd.DataFrame], notes: list[str]) -> Figure:
    labels = list(rows)
    metrics = [name for name in METRICS if any(estimate(rows[label], name) for label in labels)]
    count, width = len(metrics), TEXT if len(metrics) > 1 else 4.5
    figure, axes = layout.grid(count, count, 0.2 + 0.27 * len(labels), width)
    for ax, metric in zip(axes, metrics, strict=True):
        for place, label in enumerate(labels):
            if mean := estimate(rows[label], metric):
                colour = scene.line_styles[label].colour
                found = by_run(rows[label], metric)
                values = np.array([value for runs in found.values() for value in runs.values()])
                # Runs are above, their mean below. Runs with similar values are set apart.
                order = np.argsort(np.argsort(values))
                offset = -0.13 + 0.1 * np.array([-1.0, 0.3, 1.0, -0.3])[order % 4]
                ax.scatter(
                    values, place + offset, s=9, color=colour, alpha=0.5, linewidth=0, label=RUNS
                )
                low, high = mean.estimate.interval or (mean.value, mean.value)
                ax.plot([low, high], [place + 0.17] * 2, color=colour, linewidth=1.6)
                ax.scatter(
                    [mean.value], [place + 0.17], s=13, marker="D", color=colour,
                    edgecolor="white", linewidth=0.5, zorder=4, label=MEAN,
                )  # fmt: skip
        ax.set_ylim(len(labels) - 0.4, -0.6)
        names = [scene.names[label] for label in labels]
        ax.set_yticks(range(len(labels)), names if ax is axes[0] else [])
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.grid(axis="x")
        layout.few_ticks(ax.xaxis)
        ax.xaxis.set_major_formatter(lambda value, _: layout.short_number(round(value, 9), 1.0))
        if metric == PERFORMANCE:
            ax.set_xlim(-0.03, 1.03)
        else:
            ax.axvline(0.0, color="#bbbbbb", linewidth=0.7, zorder=0.6)
            ax.margins(x=0.06)
        layout.set_title(ax, TITLES[metric])
    caption = (
        "A dot is a run; below the dots, their mean and its 90 % bootstrap interval over runs; "
        "seeds are resampled, for all sequences together."
    )
    title = f"Every run on {family}"
    return Figure.of("seeds", family, title, [caption, *notes], layout.finish(figure))


Array = np.ndarray
LEAST = 4  # fewest pairs that make a matrix
_COLOURS = "RdYlBu"  # suitable for colour-blind readers
_NOTHING = "#ececec"


def pair_matrices(scene: Scene) -> Iterator[Figure | Skipped]:
    """Plot final success on both tasks, and forgetting of the first, for all pairs of a label."""
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
        text = number_text(value)
        text = {"0.00": "0", "1.00": "1"}.get(text, text.replace("0.", ".", 1))
        axes.text(
            column, row, with_minus(text), ha="center", va="center_baseline", fontsize=size,
            color="white" if luminance < 0.5 else INK, clip_on=True,
        )  # fmt: skip
    axes.set_xticks(np.arange(0.5, columns - 1), minor=True)
    axes.set_yticks(np.arange(0.5, rows - 1), minor=True)
    axes.grid(which="minor", color="white", linewidth=0.6)
