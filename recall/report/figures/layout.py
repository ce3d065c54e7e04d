"""Define how figures look: fonts, the style of each label, grids of panels, and their axes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from recall.analysis.run_result import RunResult
from recall.methods import METHODS
from recall.report.tables.pivot import with_minus

Array = np.ndarray
COLUMN, TEXT = 3.25, 6.75  # widths of a paper's column and of its text, in inches
SMALL, TINY = 6.5, 5.5
INK, GREY, LIGHT, GRID, SHADE = "#222222", "#777777", "#c8c8c8", "#eeeeee", "#f0f0f0"
RC: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 7.0,
    "axes.titlesize": 7.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 4.0,
    "axes.labelsize": 7.0,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "figure.labelsize": 7.0,
    "figure.constrained_layout.h_pad": 0.05,
    "figure.constrained_layout.w_pad": 0.04,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "text.color": INK,
    **{f"{axis}tick.labelsize": SMALL for axis in "xy"},
    **{f"{axis}tick.color": GREY for axis in "xy"},
    **{f"{axis}tick.labelcolor": INK for axis in "xy"},
    **{f"{axis}tick.major.size": 2.5 for axis in "xy"},
    **{f"{axis}tick.major.width": 0.6 for axis in "xy"},
    **{f"{axis}tick.minor.size": 0.0 for axis in "xy"},
    "lines.linewidth": 1.2,
    "legend.frameon": False,
    "legend.fontsize": SMALL,
    "hatch.linewidth": 0.4,
    "pdf.fonttype": 42,  # text can be selected and edited
    "svg.hashsalt": "recall",  # the same figure gives the same bytes
}
# Distinguish labels in greyscale and for colour-blind readers, where colours are not enough.
_MARKERS = "oDs^vPX<>*hd"
_DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1.2, 1.2)), (0, (4, 1.2, 1, 1.2)))
# For variants and for methods that are not registered: the hues of Okabe and Ito's palette,
# darkened until they stand out from white paper.
PALETTE = ("#0072b2", "#b26a00", "#00795a", "#b3498a", "#3a87b8", "#000000", "#8a6508", "#882255")


Style = Literal["page", "paper"]
STYLES: dict[Style, Any] = {
    "page": RC,
    "paper": RC
    | {
        "font.family": "serif",
        "font.serif": ["Times New Roman", "Nimbus Roman", "STIXGeneral"],  # the last is always here
        "mathtext.fontset": "stix",
        "font.size": 8.0,
        "axes.titlesize": 8.0,
        "axes.labelsize": 8.0,
        "figure.labelsize": 8.0,
        "legend.fontsize": 7.5,
        "xtick.labelsize": 7.5,
        "ytick.labelsize": 7.5,
    },
}
"""Matplotlib's settings for a page on a screen, and for a paper set in a serif font."""


@dataclass(frozen=True)
class LineStyle:
    """How one label is drawn."""

    colour: str
    marker: str = ""
    dash: Any = "-"

    @property
    def of_line(self) -> dict[str, Any]:
        """Return Matplotlib's settings of a line."""
        return {
            "color": self.colour, "linestyle": self.dash, "marker": self.marker,
            "markeredgecolor": "white", "markeredgewidth": 0.4,
        }  # fmt: skip


def line_styles(runs: Iterable[RunResult]) -> dict[str, LineStyle]:
    """Return every label's style: its method's colour and marker; variants differ in dashes.

    If all labels are of one method, each has a colour; runs without changes keep the method's.
    """
    first: dict[str, RunResult] = {}
    for run in runs:
        first.setdefault(run.label, run)
    names, methods = list(METHODS), list(dict.fromkeys(run.method for run in first.values()))
    strange = [method for method in methods if method not in names]
    plain = next((label for label, run in first.items() if not run.variant), None)
    found: dict[str, LineStyle] = {}
    for label, run in first.items():
        if run.method in names:
            colour, place = METHODS[run.method].colour, names.index(run.method)
        else:
            place = strange.index(run.method)
            colour, place = PALETTE[place % len(PALETTE)], -1 - place
        number = sum(first[other].method == run.method for other in found)
        if len(methods) == 1 and len(first) > 1:
            others = [each for each in PALETTE if each != colour]
            place, number = number, number - (plain in found)
            colour = colour if label == plain else others[number % len(others)]
            number //= len(others)
        marker, dash = _MARKERS[place % len(_MARKERS)], _DASHES[number % len(_DASHES)]
        found[label] = LineStyle(colour, marker, dash)
    return found


def short_names(labels: Sequence[str]) -> dict[str, str]:
    """Return what to call every label: without the method's name if all are of one method."""
    methods = {label.partition(", ")[0] for label in labels}
    if len(set(labels)) < 2 or len(methods) > 1:
        return {label: label for label in labels}
    (method,) = methods
    return {label: label.removeprefix(f"{method}, ") for label in labels}


BOUNDARY = "boundary"  # labels the lines between stages
_LETTER = 0.55  # about how wide a letter is, relative to the size of its font


def grid(
    count: int, columns: int, height: float, width: float = TEXT, **subplots: Any
) -> tuple[Canvas, list[Axes]]:
    """Make a figure with `count` panels, each about `height` inches high."""
    columns = min(columns, count)
    rows = -(-count // columns)
    figure = Canvas(figsize=(width, rows * (height + 0.25) + 0.45), layout="constrained")
    FigureCanvasAgg(figure)
    axes = list(figure.subplots(rows, columns, squeeze=False, **subplots).flat)
    for empty in axes[count:]:
        empty.remove()
    for axis in axes[count - columns : count] if count > columns else ():
        # Below some of them is an empty cell, which has room for their numbers.
        axis.xaxis.set_in_layout(axes.index(axis) >= (rows - 1) * columns)
    return figure, axes[:count]


def panel_width(columns: int, width: float = TEXT) -> float:
    """Return about how wide a panel of a grid is, in inches."""
    return (width - 0.63 - (columns - 1) * 0.16) / columns


def finish(figure: Canvas, legend: Sequence[Artist] = ()) -> Canvas:
    """Add a legend with as many entries beside each other as fit, and lay the figure out."""
    for columns in range(len(legend), 0, -1):
        by_row = [handle for column in range(columns) for handle in legend[column::columns]]
        shown = figure.legend(handles=by_row, loc="outside upper left", ncols=columns)
        box = shown.get_window_extent()
        if columns == 1 or box.width <= figure.bbox.width:
            figure.set_figheight(figure.get_figheight() + box.height / figure.dpi)
            break
        shown.remove()
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # every format has the same places
    return figure


def set_title(axes: Axes, text: str, detail: str = "", width: float = TEXT) -> None:
    """Write a bold title, and a grey detail below it, in letters that fit into the panel."""
    title = axes.set_title(text, pad=11.0 if detail else None)
    size = float(title.get_fontsize())
    title.set_fontsize(min(size, width / (_LETTER * max(1, len(text)) / 72) / 1.1))
    if detail:
        size = min(TINY, width / (_LETTER * len(detail) / 72))
        place = (0.0, 1.0), (0.0, 3.0), "axes fraction", "offset points"
        axes.annotate(detail, *place, size=size, color=GREY)


def handle(label: str, style: LineStyle) -> Line2D:
    """Return the legend entry of a label."""
    return Line2D([], [], markersize=3.4, linewidth=1.4, label=label, **style.of_line)


def steps_axis(axes: Axes, total: int, per_task: int, width: float, labelled: bool = True) -> None:
    """Show steps from 0 to `total`, with ticks and dashed lines at the task boundaries."""
    stages = max(1, round(total / per_task))
    far = width / stages > 0.12
    most = max(2, int(width / 0.42))
    stride = next(n for n in (1, 2, 5, 10, 20, 50, 100, 1000) if stages / n <= most)
    ticks = [stage * per_task for stage in range(0, stages + 1, stride)]
    axes.set_xlim(0, total)
    axes.set_xticks(ticks, [short_number(tick, total) for tick in ticks] if labelled else [])
    for tick, label in zip(ticks, axes.get_xticklabels(), strict=True):
        # Align the outer labels so that they stay clear of the next panel.
        if tick in (0, total):
            label.set_horizontalalignment("left" if tick == 0 else "right")
    for stage in range(1, stages):
        axes.axvline(
            stage * per_task, color=LIGHT if far else "#e4e4e4", linewidth=0.6 if far else 0.4,
            dashes=(3, 2), zorder=0.5, label=BOUNDARY,
        )  # fmt: skip


def short_number(number: float, largest: float) -> str:
    """Format a number in the unit of the largest: 500k, 3M."""
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if largest >= size and number:
            return with_minus(f"{number / size:g}{unit}")
    return with_minus(f"{number:g}")


Scale = Literal["rate", "plain", "from zero", "fitted"]
"""From 0 to 1; the curves' own range; from 0; or logarithmic where they span magnitudes."""


def value_axis(axes: Axes, scale: Scale, values: Sequence[Array] = ()) -> None:
    """Show a few round numbers on the vertical axis, on a scale that suits the values."""
    axes.grid(axis="y")
    if scale == "rate":
        axes.set_ylim(-0.03, 1.03)
        axes.set_yticks([0.0, 0.25, 0.5, 0.75, 1.0], ["0", "", "0.5", "", "1"])
        return
    if scale == "fitted":
        _fit_scale(axes, np.concatenate([np.zeros(0), *values]))
    if axes.get_yscale() == "linear":
        if scale == "from zero":
            axes.set_ylim(bottom=0.0)
        few_ticks(axes.yaxis)
        largest = max(map(abs, axes.get_ylim()))
        axes.yaxis.set_major_formatter(lambda value, _: short_number(round(value, 9), largest))


def few_ticks(axis: Axis) -> None:
    """Show a few ticks at round numbers."""
    axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))


def _fit_scale(axes: Axes, values: Array) -> None:
    """Use a log axis if values span over two orders of magnitude, symlog if some are negative."""
    values = values[np.isfinite(values)]
    sizes = np.abs(values[values != 0])
    if not len(sizes) or sizes.max() < 100.0 * np.quantile(sizes, 0.1):
        return
    if values.min() > 0:
        axes.set_yscale("log")
        return
    threshold = max(1e-3, 10.0 ** np.floor(np.log10(np.quantile(sizes, 0.1))))
    axes.set_yscale("symlog", linthresh=threshold)
    axes.autoscale_view(scalex=False)
    low, high = axes.get_ylim()
    below, above = (max(0.0, 1.0 + np.log10(abs(end) / threshold)) for end in (low, high))
    far = np.arange(0.0, max(below, above), np.ceil((below + above) / 6.0))[1:]  # decades from zero
    ticks = threshold * 10.0 ** (far - 1.0)
    axes.set_yticks([tick for tick in (*-ticks, 0.0, *ticks) if low <= tick <= high])
