"""Draw the figures of a report: functions of a scene yield figures, or why there are none."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure as Canvas

from recall.analysis.collection import Collection
from recall.analysis.metrics import Measure
from recall.errors import BadValueError, UnknownNameError
from recall.files.atomic import replacement, temporary_of
from recall.plugins import HOW_TO_IMPORT, Registry, note
from recall.report.figures.comparisons import pair_matrices, seeds
from recall.report.figures.curves import average_success, current_task, family_figures, task_curves
from recall.report.figures.figure import Detailed, Drawn, Figure, Gallery, Scene, Skipped
from recall.report.figures.layout import STYLES, Style
from recall.report.figures.training import q_scale, training
from recall.report.figures.transfer_areas import transfer_areas

MakeFigures = Callable[[Scene], Iterator[Figure | Skipped]]
FORMATS = ("png", "svg", "pdf")
_DPI = 220
_UNDATED: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}

# In the order of a report.
BUILTIN: dict[str, MakeFigures] = {
    "average_success": average_success,
    "current_task": current_task,
    "seeds": seeds,
    "task_curves": task_curves,
    "transfer_areas": transfer_areas,
    "pair_matrices": pair_matrices,
    "training": training,
    "q_scale": q_scale,
}


def _checked(kind: str, make_figures: Any) -> MakeFigures:
    if not callable(make_figures):
        raise BadValueError(f"figure {kind!r} is {make_figures!r}, not a function of a scene")
    return make_figures


FIGURES: Registry[MakeFigures] = Registry("recall.figures", BUILTIN, _checked)


def register_figure(kind: str, make_figures: MakeFigures) -> None:
    """Add a figure to every report: a function that yields figures, or why there are none."""
    if kind in BUILTIN:
        raise BadValueError(f"figure {kind!r} is one of recall's own: choose another name")
    FIGURES[kind] = _checked(kind, make_figures)
    note(make_figures.__module__)


def draw_all(
    collection: Collection,
    folder: Path,
    measure: Measure | None = None,
    kinds: Iterable[str] | None = None,
    formats: Sequence[str] = FORMATS,
    detailed: int | None = 2,
    style: Style = "page",
) -> Gallery:
    """Draw every figure that the runs have data for into `folder`; `kinds` selects some of them.

    `detailed` is the number of sequences per family that get figures of their own; None means all.
    """
    scene = Scene(collection, measure or Measure(), detailed, style)
    drawn, skipped = [], []
    for found in all_figures(scene, kinds):
        if isinstance(found, Skipped):
            skipped.append(found)
            continue
        paths = _save(found.figure, folder / found.name, formats, style)
        width = found.figure.get_figwidth()
        drawn.append(Drawn(found.kind, found.name, found.title, found.caption, paths, width))
    return Gallery(tuple(drawn), tuple(dict.fromkeys(skipped)))


def _save(canvas: Canvas, stem: Path, formats: Sequence[str], style: Style) -> dict[str, Path]:
    """Save the figure in every format; the same figure gives the same bytes."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = {kind: stem.with_name(f"{stem.name}.{kind}") for kind in formats}
    with matplotlib.rc_context(STYLES[style]):
        for kind, path in paths.items():
            with replacement(path, temporary_of(path)) as temporary:
                canvas.savefig(temporary, format=kind, dpi=_DPI, metadata=_UNDATED.get(kind))
    return paths


def all_figures(scene: Scene, kinds: Iterable[str] | None = None) -> Iterator[Figure | Skipped]:
    """Yield every figure, one at a time and unsaved."""
    for kind in FIGURES if kinds is None else kinds:
        if kind not in FIGURES:
            raise UnknownNameError("figure", kind, FIGURES, HOW_TO_IMPORT)
        found = FIGURES[kind](scene)
        while True:
            # Not while the caller uses what is yielded.
            with matplotlib.rc_context(STYLES[scene.style]):
                one = next(found, None)
            if one is None:
                break
            yield one


__all__ = [
    "FIGURES",
    "FORMATS",
    "Detailed",
    "Drawn",
    "Figure",
    "Gallery",
    "Scene",
    "Skipped",
    "Style",
    "all_figures",
    "draw_all",
    "family_figures",
    "register_figure",
]
