"""Plot methods side by side at the end: every run, and metrics by the number of tasks."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from recall.analysis.bootstrap import Estimate
from recall.analysis.estimates import by_run, estimate, shared_sequences
from recall.analysis.frames import list_of, select
from recall.analysis.measures import FORGETTING, METRICS, PERFORMANCE, TITLES
from recall.files.names import slug
from recall.report.figures import layout
from recall.report.figures.bands import Band, Group, shown_labels, silence
from recall.report.figures.curves import draw_bands, each_family, join
from recall.report.figures.figure import Figure, Scene, Skipped
from recall.report.figures.style import TEXT
from recall.report.tables.lengths import LEAST, lengths_apart, scores_by_length, seconds_of

RUNS, MEAN = "runs", "mean"  # label the dots
NOT_TRAINED = "no run of more than one task was trained to its end"
RESAMPLED = "90 % bootstrap interval over runs; seeds are resampled, for all sequences together"


def compared(scene: Scene, groups: list[Group]) -> tuple[dict[str, pd.DataFrame], str]:
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
    skipped, drawn = [], False
    for found in each_family(scene, "seeds", scene.collection.with_success):
        if isinstance(found, Skipped):
            skipped.append(found)
            continue
        name, groups = found
        rows, note = compared(scene, groups)
        if rows:
            drawn = True
            yield _seeds(scene, name, rows, join([note, silence(groups)]))
    yield from skipped if drawn else [Skipped("seeds", NOT_TRAINED)]


def _seeds(scene: Scene, family: str, rows: Mapping[str, pd.DataFrame], note: str) -> Figure:
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
    caption = f"A dot is a run; below the dots, their mean and its {RESAMPLED}."
    return Figure(
        "seeds",
        f"seeds-{slug(family)}",
        f"Every run on {family}",
        join([caption, note]),
        layout.finish(figure),
    )


def scaling(scene: Scene) -> Iterator[Figure | Skipped]:
    """Plot how the metrics, and the time per step, change with the number of tasks."""
    found = scores_by_length(scene.analysis, shown_labels(scene.collection))
    if not found:
        reason = f"no method was trained to the end on sequences of {LEAST} lengths"
        yield Skipped("scaling", reason)
        return
    titles = {name: TITLES[name] for name in (PERFORMANCE, FORGETTING)}
    titles |= {"time": "milliseconds of a step"}
    shown = {what: curves for what in titles if (curves := _by_length(found, what))}
    count = len(shown)
    figure, axes = layout.grid(count, count, 1.6, min(1.0, 0.4 * count) * TEXT)
    for ax, (what, curves) in zip(axes, shown.items(), strict=True):
        draw_bands(ax, curves, scene.line_styles)
        lengths = sorted({int(length) for band in curves.values() for length in band.steps})
        ax.set_xscale("log")
        ax.set_xticks(lengths, map(str, lengths))
        ax.set_xticks([], minor=True)
        scales: dict[str, layout.Scale] = {PERFORMANCE: "rate", "time": "from zero"}
        layout.value_axis(ax, scales.get(what, "plain"))
        layout.set_title(ax, titles[what])
    figure.supxlabel("tasks")
    layout.finish(
        figure, [layout.handle(scene.names[each], scene.line_styles[each]) for each in found]
    )
    caption = [
        f"Metrics at the end of sequences of different lengths, with their {RESAMPLED}; the mean "
        "over the sequences that all methods have where there are several of one length."
    ]
    if apart := lengths_apart(found):
        caption.append(
            f"The sequences of {', '.join(map(str, apart))} tasks are different ones for "
            "different methods, so do not compare there."
        )
    if "time" in shown:
        caption.append("The time is that of a fleet, divided by its runs and their steps.")
    yield Figure("scaling", "scaling", "From few tasks to many", join(caption), figure)


def _by_length(found: Mapping[str, Mapping[int, pd.DataFrame]], what: str) -> dict[str, Band]:
    """Return one metric, or the time, by number of tasks."""
    curves = {}
    for label, lengths in found.items():
        points = {length: _estimate(rows, what) for length, rows in lengths.items()}
        known = {length: point for length, point in points.items() if point is not None}
        if known:
            values = np.array([point.value for point in known.values()])
            bounds = [point.interval or (point.value, point.value) for point in known.values()]
            low, high = np.array(bounds).T
            curves[label] = Band(np.array([*known], float), values, low, high, runs=2)
    return curves


def _estimate(rows: pd.DataFrame, what: str) -> Estimate | None:
    if what == "time":
        time = seconds_of(rows, by_step=True)
        return None if time is None else Estimate(1000.0 * time)
    mean = estimate(rows, what)
    return None if mean is None else mean.estimate
