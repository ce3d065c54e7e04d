"""Define how figures look: fonts and sizes, and the colour, marker and dash of each label."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from recall.analysis.run_result import RunResult
from recall.methods import METHODS

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
