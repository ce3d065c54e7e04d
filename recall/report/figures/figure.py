"""Define a figure before it is saved (Figure), after (Drawn), and if it is missing (Skipped)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np
from matplotlib.figure import Figure as Canvas

from recall.analysis.collection import Collection
from recall.analysis.frames import Analysis, analyse
from recall.analysis.metrics import Measure
from recall.analysis.run_result import RunResult
from recall.files.names import slug
from recall.report.figures.layout import LineStyle, Style, line_styles, short_names
from recall.settings.checked import Range

Array = np.ndarray
Detailed = Annotated[int, Range(least=0)] | None
"""Number of sequences per family that get figures of their own; None means all."""


@dataclass(frozen=True)
class _Described:
    kind: str
    name: str
    """The stem of the file names."""
    title: str
    caption: str


@dataclass(frozen=True)
class Figure(_Described):
    """A figure that is not saved yet."""

    figure: Canvas

    @classmethod
    def of(
        cls, kind: str, subject: str, title: str, sentences: Iterable[str], figure: Canvas
    ) -> "Figure":
        """Return a figure of a subject, with a caption of the sentences that are not empty."""
        caption = " ".join(filter(None, sentences))
        return cls(kind, f"{kind}-{slug(subject)}", title, caption, figure)


@dataclass(frozen=True)
class Drawn(_Described):
    """A figure that was saved to files, as wide as `width` inches."""

    paths: Mapping[str, Path]
    width: float


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


@dataclass(frozen=True)
class Scene:
    """The data that all figures are drawn from."""

    collection: Collection
    measure: Measure = field(default_factory=Measure)
    detailed: Detailed = 2
    style: Style = "page"

    @cached_property
    def analysis(self) -> Analysis:
        """The scores of every label and sequence."""
        return analyse(self.collection, self.measure)

    @cached_property
    def line_styles(self) -> dict[str, LineStyle]:
        """The line style of every label, the same in all figures."""
        # Single tasks are styled apart, so that they do not change the colours of sequences.
        parts = self.collection.single, self.collection.sequential
        return line_styles(parts[0].runs) | line_styles(parts[1].runs)

    @cached_property
    def names(self) -> dict[str, str]:
        """What legends and rows call every label."""
        return short_names(self.collection.labels)

    def successes(self, run: RunResult) -> Array:
        """Return the success rates [evaluation, task] of a run."""
        return run.curve(self.measure.mode, self.measure.field).success
