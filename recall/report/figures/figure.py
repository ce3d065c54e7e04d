"""Define a figure before it is saved (Figure), after (Drawn), and if it is missing (Skipped).

Every panel knows its position in the image and the numbers it shows, so that a page can show them
under the pointer without drawing anything again.
"""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from recall.analysis.collection import Collection
from recall.analysis.measures import Measure
from recall.analysis.run_result import RunResult
from recall.analysis.scores import ScoreBoard
from recall.report.figures.bands import Band
from recall.report.figures.style import LineStyle, line_styles
from recall.settings.checked import Range

Array = np.ndarray
Detailed = Annotated[int, Range(least=0)] | None
"""Number of sequences per family that get figures of their own; None means all."""


@dataclass(frozen=True)
class Series:
    """One curve, point set or row of cells as plain numbers; None where there is no number."""

    label: str
    colour: str
    x: list[float | None]
    y: list[float | None]
    low: list[float | None] | None = None
    high: list[float | None] | None = None
    points: list[float | None] | None = None
    """The values of the single runs, if x is their mean."""

    @classmethod
    def of(cls, label: str, colour: str, band: Band) -> "Series":
        """Make a series of a mean curve with its interval."""
        return cls(
            label, colour, plain(band.steps), plain(band.mean), plain(band.low), plain(band.high)
        )


def plain(values: Iterable[float]) -> list[float | None]:
    """Round numbers to six digits; None stands for what JSON does not have, NaN and infinity."""
    return [float(f"{value:.6g}") if math.isfinite(value) else None for value in values]


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    box: tuple[float, float, float, float]
    """Left, top, right and bottom as fractions of the image's width and height, from the top
    left."""
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    y_scale: str
    """`linear`, `log` or `symlog`, as in matplotlib."""
    x_name: str
    y_name: str
    series: tuple[Series, ...] = ()
    columns: tuple[str, ...] = ()
    """Names of the columns, if the series are rows of cells."""
    values_along_x: bool = False
    """Whether x is the value that is shown and y only the row of a label."""

    @classmethod
    def of(
        cls,
        axes: Axes,
        title: str,
        names: tuple[str, str],
        series: list[Series],
        columns: tuple[str, ...] = (),
        values_along_x: bool = False,
    ) -> "Panel":
        """Return the panel that describes `axes`."""
        box = axes.get_position()
        return cls(
            title,
            (box.x0, 1.0 - box.y1, box.x1, 1.0 - box.y0),
            axes.get_xlim(),
            axes.get_ylim(),
            axes.get_yscale(),
            *names,
            tuple(series),
            columns,
            values_along_x,
        )


@dataclass(frozen=True)
class Figure:
    """A figure that is not saved yet."""

    kind: str
    name: str
    """Stem of the file names: the kind, followed by the subject."""
    title: str
    caption: str
    figure: Canvas
    panels: tuple[Panel, ...] = ()


@dataclass(frozen=True)
class Drawn:
    """A figure that was saved to files."""

    kind: str
    name: str
    title: str
    caption: str
    paths: Mapping[str, Path]
    """By format: png, svg, pdf."""
    panels: tuple[Panel, ...] = ()


@dataclass(frozen=True)
class Skipped:
    """A figure that was not drawn, and why."""

    kind: str
    reason: str


@dataclass(frozen=True)
class Gallery:
    """The figures of a report, and why others are missing."""

    drawn: tuple[Drawn, ...]
    skipped: tuple[Skipped, ...] = ()

    def __iter__(self) -> Iterator[Drawn]:
        return iter(self.drawn)

    def __len__(self) -> int:
        return len(self.drawn)

    def moved(self, old: Path, new: Path) -> "Gallery":
        """Return the gallery after its files were moved from one folder to another."""
        drawn = (
            dataclasses.replace(
                each,
                paths={kind: new / path.relative_to(old) for kind, path in each.paths.items()},
            )
            for each in self.drawn
        )
        return Gallery(tuple(drawn), self.skipped)


@dataclass(frozen=True)
class Scene:
    """The data that all figures are drawn from."""

    collection: Collection
    measure: Measure = field(default_factory=Measure)
    detailed: Detailed = 2

    @cached_property
    def board(self) -> ScoreBoard:
        """Return the metrics of every label and sequence."""
        return ScoreBoard(self.collection, self.measure)

    @cached_property
    def line_styles(self) -> dict[str, LineStyle]:
        """Return the line style of every label, the same in all figures."""
        sequences, single = self.collection.sequential.runs, self.collection.single.runs
        # Single tasks are styled apart, so that they do not change the colours of sequences.
        styles = line_styles(sequences)
        return styles | {
            label: style for label, style in line_styles(single).items() if label not in styles
        }

    def successes(self, run: RunResult) -> Array:
        """Return the success rates [evaluation, task] of a run."""
        return run.curve(self.measure.mode, self.measure.field).success
