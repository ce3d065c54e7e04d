"""Lay out grids of panels with a legend, draw their axes, and save them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from recall.files.atomic import replacement, temporary_of
from recall.report.figures.style import GREY, LIGHT, LOOK, TEXT, TINY, LineStyle, Look, rc

Array = np.ndarray
FORMATS = ("png", "svg", "pdf")
BOUNDARY, TITLE = "boundary", "title"  # label the lines between stages, and the titles of panels
_DPI = 220
Where = Literal["outside upper left", "outside lower left"]
_UNDATED: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def grid(
    count: int, columns: int, width: float = TEXT, **subplots: Any
) -> tuple[Canvas, list[Axes]]:
    """Make a figure with `count` panels, whose size `finish` sets."""
    columns = min(columns, count)
    rows = -(-count // columns)
    figure = Canvas(figsize=(width * LOOK.get().scale, 2.0 * rows), layout="constrained")
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
    return (width * LOOK.get().scale - 0.63 - (columns - 1) * 0.16) / columns


def finish(
    figure: Canvas,
    axes: Sequence[Axes],
    height: float | None,
    legend: Sequence[Artist] = (),
    where: Where = "outside upper left",
) -> Canvas:
    """Add a legend, and make all panels `height` inches high, or square if it is None."""
    if legend:
        _add_legend(figure, legend, where)
    engine, gridspec = figure.get_layout_engine(), axes[0].get_gridspec()
    assert engine is not None
    assert gridspec is not None
    engine.execute(figure)
    box = axes[0].get_window_extent().transformed(figure.dpi_scale_trans.inverted())
    wanted = box.width if height is None else height
    figure.set_figheight(figure.get_figheight() + gridspec.nrows * (wanted - box.height))
    engine.execute(figure)
    figure.set_layout_engine("none")  # later drawing keeps these places
    for ax in axes:
        _fit_title(ax)
    return figure


def _add_legend(figure: Canvas, handles: Sequence[Artist], where: Where) -> None:
    """Add a legend with as many entries beside each other as fit, in rows."""
    for columns in range(len(handles), 0, -1):
        by_row = [handle for column in range(columns) for handle in handles[column::columns]]
        legend = figure.legend(handles=by_row, loc=where, ncols=columns)
        if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()


def _fit_title(axes: Axes) -> None:
    """Make a title smaller that is wider than its panel, and hide a detail without room."""
    texts = [child for child in axes.get_children() if isinstance(child, Text)]
    found = [text for text in texts if text.get_label() == TITLE]
    if not found:
        return
    title, *details = found
    room, used = axes.get_window_extent().width, title.get_window_extent()
    title.set_fontsize(float(title.get_fontsize()) * min(1.0, room / max(used.width, 1.0)))
    for detail in details:
        detail.set_visible(detail.get_window_extent().x0 > used.x1 + 4)


def set_title(axes: Axes, text: str, detail: str = "") -> None:
    """Write a bold title at the left, and a grey detail at the right if there is room for both."""
    axes.set_title(text).set_label(TITLE)
    if detail:
        axes.set_title(
            detail, loc="right", fontsize=TINY, fontweight="normal", color=GREY
        ).set_label(TITLE)


def handle(label: str, style: LineStyle) -> Line2D:
    """Return the legend entry of a label."""
    return Line2D(
        [], [], color=style.colour, linestyle=style.dash, marker=style.marker, markersize=3.4,
        markeredgecolor="white", markeredgewidth=0.4, linewidth=1.4, label=label,
    )  # fmt: skip


def steps_axis(axes: Axes, total: int, per_task: int, width: float, labelled: bool = True) -> None:
    """Show steps from 0 to `total`, with ticks and dashed lines at the task boundaries."""
    stages = max(1, round(total / per_task))
    most = max(2, int(width / 0.42))
    far = width / stages > 0.12
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
            return f"{number / size:g}{unit}"
    return f"{number:g}"


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


def save(figure: Canvas, stem: Path, formats: Sequence[str]) -> dict[str, Path]:
    """Save the figure in every format; the same figure gives the same bytes."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = {}
    dpi = _DPI * LOOK.get().font_size / Look.font_size
    with matplotlib.rc_context(rc()):
        for kind in formats:
            path = stem.with_name(f"{stem.name}.{kind}")
            with replacement(path, temporary_of(path)) as temporary:
                figure.savefig(temporary, format=kind, dpi=dpi, metadata=_UNDATED.get(kind))
            paths[kind] = path
    return paths
