"""Draw panels of curves over steps, for the figures of success, losses and plasticity."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from recall.analysis.run_result import RunResult
from recall.report.figures.bands import Band, band, bin_size, thinned
from recall.report.figures.figure import Series
from recall.report.figures.groups import Group
from recall.report.figures.stages import stage_of
from recall.report.figures.style import LineStyle

Array = np.ndarray
CurveOf = Callable[[RunResult], tuple[Array, Array]]  # (steps, values)


def bands_of(
    group: Group, curve_of: CurveOf, most: int | None = None, breaks: Sequence[int] = ()
) -> dict[str, Band]:
    """Return the mean curve of every label that has one, with about `most` points per stage.

    `breaks` are the last steps of stages if a curve shows another task in each.
    """
    found = {}
    for label, runs in group.runs.items():
        curves = [
            (steps, values)
            for steps, values in thinned_alike([(run, *curve_of(run)) for run in runs], most)
            if np.isfinite(values).any()
        ]
        if curves:
            found[label] = band(curves, breaks)
    return found


def thinned_alike(
    curves: Sequence[tuple[RunResult, Array, Array]], most: int | None
) -> list[tuple[Array, Array]]:
    """Return (steps, values) of each run with about `most` points per stage; None: with all."""
    stages = [stage_of(steps, run) for run, steps, _ in curves]
    size = 1 if most is None else bin_size(stages, most)
    return [
        thinned(steps, values, own, size)
        for (_, steps, values), own in zip(curves, stages, strict=True)
    ]


def draw_band(
    axes: Axes, found: Band, style: LineStyle, label: str, breaks: Sequence[int] = ()
) -> None:
    """Draw a line with its interval, interrupted after the steps in `breaks`."""
    gaps = np.searchsorted(found.steps, breaks, side="right")
    x, mean, low, high = (
        np.insert(np.asarray(values, float), gaps, np.nan)
        for values in (found.steps, found.mean, found.low, found.high)
    )
    if found.runs > 1:
        axes.fill_between(x, low, high, color=style.colour, alpha=0.16, linewidth=0)
    # Draw a few markers, at different places for each label, so that none hides another.
    every = max(1, len(x) // 4)
    first = sum(label.encode()) % every
    axes.plot(
        x, mean, color=style.colour, linestyle=style.dash, label=label, marker=style.marker,
        linewidth=1.2 if len(x) < 80 else 0.9,
        markersize=3.0, markevery=(first, every), markeredgecolor="white", markeredgewidth=0.4,
    )  # fmt: skip


def draw_bands(
    axes: Axes,
    bands: Mapping[str, Band],
    line_styles: Mapping[str, LineStyle],
    breaks: Sequence[int] = (),
) -> list[Series]:
    """Draw all labels in order, the last one on top."""
    for label, found in bands.items():
        draw_band(axes, found, line_styles[label], label, breaks)
    return [Series.of(label, line_styles[label].colour, found) for label, found in bands.items()]


def seeds_in_words(groups: Sequence[Group]) -> str:
    """Return a sentence for captions that says how many runs the means are over."""
    counts: dict[str, set[int]] = {}
    for group in groups:
        for label, runs in group.runs.items():
            counts.setdefault(label, set()).add(len(runs))
    numbers = {number for found in counts.values() for number in found}
    if len(numbers) == 1:
        (number,) = numbers
        return "One run each." if number == 1 else f"Means of {number} runs with 90 % intervals."
    told = (
        f"{label} {min(found)}" + (f" to {max(found)}" if len(found) > 1 else "")
        for label, found in counts.items()
    )
    return f"Means with 90 % intervals; runs: {', '.join(told)}."
