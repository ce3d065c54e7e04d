"""Lay out figures in inches: grids of panels, legends that fit, axes of steps and success."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.textpath import text_to_path
from matplotlib.ticker import MaxNLocator

from recall.files.atomic import replacement, temporary_of
from recall.report.figures.style import (
    GREY,
    LIGHT,
    LOOK,
    RC,
    SMALL,
    TEXT,
    TINY,
    LineStyle,
    Look,
    rc,
)

Handle = Line2D | Rectangle
FORMATS = ("png", "svg", "pdf")
BOUNDARY = "boundary"  # marks the lines between stages
_DPI = 220
_ROW = 0.155  # height of a legend row
_HANDLE, _PAD = 0.26, 0.16


@dataclass(frozen=True)
class Space:
    """Space around and between panels, in inches."""

    left: float = 0.46
    right: float = 0.17
    above: float = 0.24
    """Above every row of panels, for the titles."""
    below: float = 0.36
    """Below the last row, for its axis."""
    beside: float = 0.16
    under: float = 0.14
    """Below the other rows."""


def text_width(text: str, size: float, weight: str = "normal") -> float:
    """Return the width of a text in inches."""
    return _text_width(text, size, weight, LOOK.get().font)


@cache
def _text_width(text: str, size: float, weight: str, family: str) -> float:
    font = FontProperties(family=family, size=size, weight=weight)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]) / 72.0


def grid(
    count: int,
    columns: int,
    height: float,
    legend: Sequence[Handle] = (),
    width: float = TEXT,
    space: Space = Space(),  # noqa: B008  (frozen)
) -> tuple[Canvas, list[Axes]]:
    """Make a figure with `count` panels of `height` inches, and a legend above that fits."""
    width *= LOOK.get().scale
    columns = min(columns, count)
    rows = -(-count // columns)
    entries = _legend_rows(legend, width - space.left - space.right)
    top = _ROW * len(entries) + (0.06 if entries else 0.0)
    row_height = space.above + height + space.under
    total = top + rows * row_height - space.under + space.below
    figure = Canvas(figsize=(width, total), facecolor="white")
    FigureCanvasAgg(figure)
    panel = (width - space.left - space.right - (columns - 1) * space.beside) / columns
    axes = []
    for index in range(count):
        row, column = divmod(index, columns)
        x = space.left + column * (panel + space.beside)
        y = total - top - row * row_height - space.above - height
        axes.append(figure.add_axes((x / width, y / total, panel / width, height / total)))
    for row, line in enumerate(entries):
        _draw_legend(figure, line, space.left, total - 0.04 - _ROW * (row + 0.5), total, width)
    return figure, axes


def _entry_width(line: Handle) -> float:
    return _HANDLE + 0.06 + text_width(str(line.get_label()), SMALL) + _PAD


def _legend_rows(legend: Sequence[Handle], width: float) -> list[list[Handle]]:
    rows: list[list[Handle]] = []
    used = math.inf
    for line in legend:
        wanted = _entry_width(line)
        if used + wanted - _PAD > width:
            rows.append([])
            used = 0.0
        rows[-1].append(line)
        used += wanted
    return rows


def _draw_legend(
    figure: Canvas, lines: Sequence[Handle], x: float, y: float, height: float, width: float
) -> None:
    for line in lines:
        if isinstance(line, Line2D):
            line.set_data(
                [x / width, (x + _HANDLE / 2) / width, (x + _HANDLE) / width], [y / height] * 3
            )
            line.set_markevery([1])
        else:
            line.set_bounds(x / width, (y - 0.045) / height, _HANDLE / width, 0.09 / height)
        line.set_transform(figure.transFigure)
        figure.add_artist(line)
        figure.text(
            (x + _HANDLE + 0.06) / width, y / height, str(line.get_label()),
            fontsize=SMALL, va="center_baseline",
        )  # fmt: skip
        x += _entry_width(line)


def handle(label: str, style: LineStyle, **changes: Any) -> Line2D:
    """Return the legend entry of a label."""
    wanted = {
        "color": style.colour, "linestyle": style.dash, "marker": style.marker, "markersize": 3.4,
        "markeredgecolor": "white", "markeredgewidth": 0.4, "linewidth": 1.4, "label": label,
    }  # fmt: skip
    return Line2D([], [], **(wanted | changes))


def swatch(label: str, **style: Any) -> Rectangle:
    """Return a legend entry that stands for an area."""
    return Rectangle((0, 0), 0, 0, label=label, **style)


def is_outer(index: int, count: int, columns: int) -> tuple[bool, bool]:
    """Return whether a panel of a grid has nothing below it, and nothing to its left."""
    columns = min(columns, count)
    return index + columns >= count, index % columns == 0


def title(axes: Axes, text: str, detail: str = "") -> None:
    """Write a bold title at the left, followed by a grey detail if there is room for both."""
    room, size = width_of(axes), float(RC["axes.titlesize"])
    size *= min(1.0, room / text_width(text, size, "bold"))
    axes.set_title(text, loc="left", pad=4.0, fontweight="bold", fontsize=size)
    offset = text_width(text, size, "bold") + 0.09
    if detail and offset + text_width(detail, TINY) <= room:
        axes.annotate(
            detail, (0, 1), (offset * 72, 4.4), xycoords="axes fraction",
            textcoords="offset points", fontsize=TINY, color=GREY, va="baseline",
        )  # fmt: skip


def width_of(axes: Axes) -> float:
    """Return the width of a panel in inches."""
    figure = axes.get_figure(root=True)
    return float(axes.get_position().width * figure.get_size_inches()[0]) if figure else 0.0


def steps_axis(axes: Axes, total: int, per_task: int, labelled: bool = True) -> None:
    """Show steps from 0 to `total`, with ticks and dashed lines at the task boundaries."""
    stages = max(1, round(total / per_task))
    most = max(2, int(width_of(axes) / 0.42))
    far = width_of(axes) / stages > 0.12
    stride = next(n for n in (1, 2, 5, 10, 20, 50, 100, 1000) if stages / n <= most)
    ticks = [stage * per_task for stage in range(0, stages + 1, stride)]
    axes.set_xlim(0, total)
    axes.set_xticks(ticks, [steps_text(tick, total) for tick in ticks] if labelled else [])
    for tick, label in zip(ticks, axes.get_xticklabels(), strict=True):
        # Align the outer labels so that they stay clear of the next panel.
        if tick in (0, total):
            label.set_horizontalalignment("left" if tick == 0 else "right")
    for stage in range(1, stages):
        axes.axvline(
            stage * per_task, color=LIGHT if far else "#e4e4e4", linewidth=0.6 if far else 0.4,
            dashes=(3, 2), zorder=0.5, gid=BOUNDARY,
        )  # fmt: skip
    if labelled:
        axes.set_xlabel("steps", labelpad=1.5)


def steps_text(steps: float, total: float) -> str:
    """Format steps in the unit of the total: 500k, 3M."""
    if not steps:
        return "0"
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if total >= size:
            return f"{steps / size:g}{unit}"
    return f"{steps:g}"


def short_numbers(axes: Axes) -> None:
    """Write the numbers of a linear vertical axis in the unit of the largest: 50k, 100k."""
    if axes.get_yscale() == "linear":
        largest = max(map(abs, axes.get_ylim()))
        axes.yaxis.set_major_formatter(lambda value, _: steps_text(value, largest))


def success_axis(axes: Axes, labelled: bool = True, name: str = "success") -> None:
    """Show success rates from 0 to 1."""
    axes.set_ylim(-0.03, 1.03)
    ticks = [0.0, 0.25, 0.5, 0.75, 1.0]
    axes.set_yticks(ticks, ["0", "", "0.5", "", "1"] if labelled else [])
    axes.grid(axis="y", color="#eeeeee", linewidth=0.5)
    if labelled:
        axes.set_ylabel(name, labelpad=2.0)


def plain_axis(axes: Axes, name: str = "") -> None:
    """Show a few round numbers, in the axis' own range."""
    plain_ticks(axes.yaxis)
    axes.grid(axis="y", color="#eeeeee", linewidth=0.5)
    axes.tick_params(axis="y", pad=1.5)
    if name:
        axes.set_ylabel(name, labelpad=1.0)


def plain_ticks(axis: Axis) -> None:
    """Show a few ticks at round numbers."""
    axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))


def save(figure: Canvas, stem: Path, formats: Sequence[str]) -> dict[str, Path]:
    """Save the figure in every format; the same figure gives the same bytes."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = {}
    look = LOOK.get()
    dpi = _DPI * look.font_size / Look.font_size
    with matplotlib.rc_context(rc()):
        for kind in formats:
            path = stem.with_name(f"{stem.name}.{kind}")
            with replacement(path, temporary_of(path)) as temporary:
                figure.savefig(temporary, format=kind, dpi=dpi, metadata=_UNDATED.get(kind))
            paths[kind] = path
    return paths


_UNDATED: dict[str, dict[str, Any]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
