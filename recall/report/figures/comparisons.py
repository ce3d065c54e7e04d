"""Plot methods side by side at the end: every run, with means and intervals."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from recall.analysis.estimates import by_run, estimate, shared_sequences
from recall.analysis.frames import list_of, select
from recall.analysis.metrics import METRICS, PERFORMANCE, TITLES
from recall.report.figures import layout
from recall.report.figures.bands import Group, shown_labels, silence
from recall.report.figures.curves import drawn_families
from recall.report.figures.figure import Figure, Scene, Skipped
from recall.report.figures.style import TEXT

RUNS, MEAN = "runs", "mean"  # label the dots
NOT_TRAINED = "no run of more than one task was trained to its end"


def _compared(scene: Scene, groups: list[Group]) -> tuple[dict[str, pd.DataFrame], str]:
    """Return the scores of each label over the sequences that all have, and a note for captions.

    A method that was run on the easy sequences alone would look better than one that was run on
    all. The note is empty if all labels have all sequences.
    """
    labels = [
        label for label in shown_labels(scene.collection) if any(label in g.runs for g in groups)
    ]
    sequences = [group.sequence for group in groups]
    rows = select(scene.analysis.scores, label=labels, sequence=sequences)
    found = {label: rows[rows.label == label] for label in list_of(rows, "label")}
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
    trained = any(rows for rows, _ in compared.values())
    yield from skipped if trained else [Skipped("seeds", NOT_TRAINED)]


def _seeds(scene: Scene, family: str, rows: Mapping[str, pd.DataFrame], notes: list[str]) -> Figure:
    labels = list(rows)
    metrics = [name for name in METRICS if any(estimate(rows[label], name) for label in labels)]
    figure, axes = layout.grid(
        len(metrics), len(metrics), 0.2 + 0.27 * len(labels), TEXT if len(metrics) > 1 else 4.5
    )
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
