"""Define how figures look: sizes, and the colour, marker and dash of each label."""

from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from recall.analysis.run_result import RunResult
from recall.methods import METHODS
from recall.settings.checked import Checked

COLUMN, TEXT = 3.4, 7.0  # widths of a paper's column and of its text, in inches
SMALL, TINY = 6.5, 5.5
INK, GREY, LIGHT = "#222222", "#777777", "#c8c8c8"
RC: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 7.0,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7.0,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "text.color": INK,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.size": 0.0,
    "ytick.minor.size": 0.0,
    "lines.linewidth": 1.2,
    "lines.solid_capstyle": "round",
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


@dataclass(frozen=True)
class Look(Checked):
    """The font of figures, and its size when a figure is shown at its width."""

    font: str = "DejaVu Sans"
    font_size: float = 7.0
    """In points."""
    width: float = TEXT
    """Width of a page's text, in inches, which wide figures fill."""

    @property
    def scale(self) -> float:
        """Return the width of figures as laid out, with text of 7 points, relative to TEXT."""
        return self.width / TEXT * Look.font_size / self.font_size


LOOK: ContextVar[Look] = ContextVar("look", default=Look())  # noqa: B039  (frozen)
"""How figures look that are drawn now."""


def rc() -> Any:
    """Return matplotlib's settings for the figures that are drawn now."""
    return RC | {"font.family": LOOK.get().font}


@dataclass(frozen=True)
class LineStyle:
    """How one label is drawn."""

    colour: str
    marker: str
    dash: Any = "-"


def line_styles(runs: Iterable[RunResult]) -> dict[str, LineStyle]:
    """Return every label's style: its method's colour and marker; variants differ in dashes.

    If all labels are variants of one method, each gets its own colour.
    """
    first: dict[str, RunResult] = {}
    for run in runs:
        first.setdefault(run.label, run)
    if len(first) > 1 and len({run.method for run in first.values()}) == 1:
        return variant_line_styles(list(first.values()))
    seen: dict[str, int] = {}
    found = {}
    for label, run in first.items():
        number = seen.setdefault(run.method, 0)
        seen[run.method] += 1
        colour, marker = _of_method(run.method, list(seen))
        found[label] = LineStyle(colour, marker, _DASHES[number % len(_DASHES)])
    return found


def _of_method(method: str, seen: Sequence[str]) -> tuple[str, str]:
    names = list(METHODS)
    if method in names:
        return METHODS[method].colour, _MARKERS[names.index(method) % len(_MARKERS)]
    strangers = [name for name in seen if name not in names]
    place = strangers.index(method)
    return PALETTE[place % len(PALETTE)], _MARKERS[-1 - place % len(_MARKERS)]


def variant_line_styles(runs: Sequence[RunResult]) -> dict[str, LineStyle]:
    """Return styles of one method's variants, each with its own colour; plain runs keep theirs."""
    found: dict[str, LineStyle] = {}
    own = METHODS[runs[0].method].colour if runs[0].method in METHODS else PALETTE[0]
    free = [colour for colour in PALETTE if colour != own]
    for run in runs:
        if run.label not in found:
            number = len([style for style in found.values() if style.colour != own])
            taken = any(style.colour == own for style in found.values())
            colour = free[number % len(free)] if run.variant or taken else own
            dash = _DASHES[number // len(free) % len(_DASHES)]
            found[run.label] = LineStyle(colour, _MARKERS[len(found) % len(_MARKERS)], dash)
    return found
