"""Plot methods side by side at the end: every run, the spread of success, and number of tasks."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from recall.analysis.bootstrap import CONFIDENCE, Estimate
from recall.analysis.estimates import by_run, estimate, shared_sequences, weights_of
from recall.analysis.frames import list_of, matrix, select
from recall.analysis.measures import FORGETTING, METRICS, PERFORMANCE, TITLES
from recall.files.names import slug
from recall.report.figures import layout
from recall.report.figures.bands import Band
from recall.report.figures.curves import draw_bands
from recall.report.figures.figure import Figure, Scene, Skipped
from recall.report.figures.groups import Family, shown_families, shown_labels, silence
from recall.report.figures.style import COLUMN, TEXT, LineStyle
from recall.report.tables.lengths import (
    LEAST,
    lengths_apart,
    scores_by_length,
    seconds_of,
)

Array = np.ndarray
RUNS, MEAN = "runs", "mean"  # label the dots
THRESHOLDS = np.linspace(0.0, 1.0, 101)
NOT_TRAINED = "no run of more than one task was trained to its end"
RESAMPLED = "90 % bootstrap interval over runs; seeds are resampled, for all sequences together"


def compared(scene: Scene, family: Family) -> tuple[dict[str, pd.DataFrame], str]:
    """Return the scores of each label over the sequences that all have, and a note for captions.

    A method that was run on the easy sequences alone would look better than one that was run on
    all. The note is empty if all labels have all sequences.
    """
    sequences = [group.sequence for group in family.groups]
    rows = select(scene.analysis.scores, label=family.labels, sequence=sequences)
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
    found = [(family, *compared(scene, family)) for family in _families(scene)]
    for family, rows, note in found:
        if rows:
            yield _seeds(scene, family, rows, note)
    if not any(rows for _, rows, _ in found):
        yield Skipped("seeds", NOT_TRAINED)


def _families(scene: Scene) -> list[Family]:
    return shown_families(scene.collection.with_success)


def _seeds(scene: Scene, family: Family, rows: Mapping[str, pd.DataFrame], note: str) -> Figure:
    labels = list(rows)
    metrics = [name for name in METRICS if any(estimate(rows[label], name) for label in labels)]
    figure, axes = layout.grid(len(metrics), len(metrics), TEXT if len(metrics) > 1 else 4.5)
    for ax, metric in zip(axes, metrics, strict=True):
        for place, label in enumerate(labels):
            if mean := estimate(rows[label], metric):
                found = by_run(rows[label], metric)
                values = np.array([value for runs in found.values() for value in runs.values()])
                _draw_row(ax, values, mean.estimate, place, scene.line_styles[label])
        ax.set_ylim(len(labels) - 0.4, -0.6)
        names = [scene.names[label] for label in labels]
        ax.set_yticks(range(len(labels)), names if ax is axes[0] else [])
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.grid(axis="x")
        layout.few_ticks(ax.xaxis)
        ax.xaxis.set_major_formatter(lambda value, _: f"{round(value, 9):g}")
        if metric == PERFORMANCE:
            ax.set_xlim(-0.03, 1.03)
        else:
            ax.axvline(0.0, color="#bbbbbb", linewidth=0.7, zorder=0.6)
            ax.margins(x=0.06)
        layout.set_title(ax, TITLES[metric])
    caption = f"A dot is a run; below the dots, their mean and its {RESAMPLED}."
    return Figure(
        "seeds",
        f"seeds-{slug(family.name)}",
        f"Every run on {family.name}",
        " ".join(filter(None, [caption, note, silence(family.groups)])),
        layout.finish(figure, axes, 0.2 + 0.27 * len(labels)),
    )


def _draw_row(axes: Axes, values: Array, mean: Estimate, place: int, style: LineStyle) -> None:
    order = np.argsort(np.argsort(values))
    # Runs are above, their mean below. Runs with similar values are set apart vertically.
    offset = -0.13 + 0.1 * np.array([-1.0, 0.3, 1.0, -0.3])[order % 4]
    axes.scatter(
        values, place + offset, s=9, color=style.colour, alpha=0.5, linewidth=0, label=RUNS
    )
    below = place + 0.17
    if mean.interval is not None:
        axes.plot(
            mean.interval, [below, below], color=style.colour, linewidth=1.6, zorder=3,
            solid_capstyle="butt",
        )  # fmt: skip
    axes.scatter(
        [mean.value], [below], s=13, marker="D", color=style.colour, edgecolor="white",
        linewidth=0.5, zorder=4, label=MEAN,
    )  # fmt: skip


def profiles(scene: Scene) -> Iterator[Figure | Skipped]:
    """Plot the share of runs and tasks that end above each success rate, for each family.

    Agarwal et al., Deep Reinforcement Learning at the Edge of the Statistical Precipice, 2021.
    Means hide how results are spread; a curve above another is better at every threshold.
    """
    found = [(family, *compared(scene, family)) for family in _families(scene)]
    for family, rows, note in found:
        if rows:
            curves = {label: profile(each) for label, each in rows.items()}
            yield _profiles(scene, family, curves, note)
    if not any(rows for _, rows, _ in found):
        yield Skipped("profiles", NOT_TRAINED)


def profile(rows: pd.DataFrame) -> Band:
    """Return the share of final successes of all runs and tasks that reach each threshold."""
    above, weights, tasks = [], [], 0
    for _, part in rows.groupby("sequence", sort=False):
        final = matrix(part, "final")
        above.append(np.sum(final[:, :, None] >= THRESHOLDS - 1e-9, axis=1, dtype=float))
        weights.append(weights_of(part))
        tasks += final.shape[1]
    mean = sum(counts.mean(axis=0) for counts in above) / tasks
    if any(drawn is None for drawn in weights):
        return Band(THRESHOLDS, mean, mean, mean, 1)
    draws = sum(drawn @ counts for drawn, counts in zip(weights, above, strict=True)) / tasks
    side = (1.0 - CONFIDENCE) / 2.0
    low, high = np.nanquantile(draws, (side, 1.0 - side), axis=0)
    return Band(THRESHOLDS, mean, low, high, min(map(len, above)))


def _profiles(scene: Scene, family: Family, found: Mapping[str, Band], note: str) -> Figure:
    styles = scene.line_styles
    figure, (ax,) = layout.grid(1, 1, COLUMN)
    for label, band in found.items():
        style = styles[label]
        if band.runs > 1:
            ax.fill_between(
                band.steps, band.low, band.high, step="pre", color=style.colour, alpha=0.16,
                linewidth=0,
            )  # fmt: skip
        ax.plot(
            band.steps, band.mean, drawstyle="steps-pre", color=style.colour, label=label,
            linestyle=style.dash, marker=style.marker, markersize=3.0,
            markevery=(sum(label.encode()) % 20, 25), markeredgecolor="white", markeredgewidth=0.4,
        )  # fmt: skip
    ax.set_xlim(0.0, 1.0)
    ax.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0], ["0", "", "0.5", "", "1"])
    ax.set_xlabel("success at the end")
    ax.set_ylabel("share above")
    layout.value_axis(ax, "rate")
    layout.set_title(ax, family.name)
    caption = (
        "The share of all runs and tasks that end with at least this success. A curve above "
        f"another is better at every threshold; a band is the {RESAMPLED}."
    )
    legend = [layout.handle(scene.names[label], styles[label]) for label in found]
    return Figure(
        "profiles",
        f"profiles-{slug(family.name)}",
        f"Performance profiles, {family.name}",
        " ".join(filter(None, [caption, note, silence(family.groups)])),
        layout.finish(figure, [ax], 1.9, legend),
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
    figure, axes = layout.grid(count, count, min(1.0, 0.4 * count) * TEXT)
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
    legend = [layout.handle(scene.names[label], scene.line_styles[label]) for label in found]
    layout.finish(figure, axes, 1.6, legend)
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
    yield Figure("scaling", "scaling", "From few tasks to many", " ".join(caption), figure)


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
