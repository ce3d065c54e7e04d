"""Draw the figures of a report: functions of a scene that yield figures, or why there are none.

`draw_all` saves the figures that there are runs for.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.font_manager import fontManager

from recall.analysis.collection import Collection
from recall.analysis.measures import Measure
from recall.errors import BadValueError, UnknownNameError
from recall.plugins import HOW_TO_IMPORT, note
from recall.plugins.registry import Registry
from recall.report.figures.comparisons import profiles, scaling, seeds
from recall.report.figures.curves import average_success, current_task, family_figures, task_curves
from recall.report.figures.figure import Detailed, Drawn, Figure, Gallery, Scene, Skipped
from recall.report.figures.layout import FORMATS, save
from recall.report.figures.matrices import pair_matrices, task_map
from recall.report.figures.style import LOOK, Look, rc
from recall.report.figures.training import q_scale, training
from recall.report.figures.transfer_areas import transfer_areas
from recall.settings.checked import from_plain

MakeFigures = Callable[[Scene], Iterator[Figure | Skipped]]

# In the order of a report.
BUILTIN: dict[str, MakeFigures] = {
    "average_success": average_success,
    "current_task": current_task,
    "seeds": seeds,
    "profiles": profiles,
    "task_map": task_map,
    "task_curves": task_curves,
    "transfer_areas": transfer_areas,
    "pair_matrices": pair_matrices,
    "scaling": scaling,
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
    look: Look | None = None,
) -> Gallery:
    """Draw every figure that the runs have data for into `folder`; `kinds` selects some of them.

    `detailed` is the number of sequences per family that get figures of their own; None means all.
    These figures take most of the time. `look` sets fonts and sizes.
    """
    look = Look() if look is None else look
    check_look(look)
    detailed = from_plain(Detailed, detailed, "detailed")
    token = LOOK.set(look)
    try:
        return _draw(Scene(collection, measure or Measure(), detailed), folder, kinds, formats)
    finally:
        LOOK.reset(token)


def check_look(look: object) -> None:
    """Raise an error for a font that is not installed, or for sizes that no figure can have."""
    if not isinstance(look, Look):
        raise BadValueError(f"look is {look!r}: expected a Look of recall.report.figures.style")
    installed = sorted({font.name for font in fontManager.ttflist})
    if look.font not in installed:
        raise UnknownNameError("font", look.font, installed)
    if not (2.0 <= look.font_size <= 40.0 and 2.0 <= look.width <= 40.0):
        raise BadValueError(
            f"figures of {look.width:g} inches with text of {look.font_size:g} points: both must "
            "be from 2 to 40"
        )


def _draw(
    scene: Scene, folder: Path, kinds: Iterable[str] | None, formats: Sequence[str]
) -> Gallery:
    drawn, skipped = [], []
    for found in all_figures(scene, kinds):
        if isinstance(found, Skipped):
            skipped.append(found)
            continue
        paths = save(found.figure, folder / found.name, formats)
        drawn.append(Drawn(found.kind, found.name, found.title, found.caption, paths, found.shades))
    return Gallery(tuple(drawn), tuple(dict.fromkeys(skipped)))


def all_figures(scene: Scene, kinds: Iterable[str] | None = None) -> Iterator[Figure | Skipped]:
    """Yield every figure, one at a time and unsaved."""
    for kind in FIGURES if kinds is None else kinds:
        if kind not in FIGURES:
            raise UnknownNameError("figure", kind, FIGURES, HOW_TO_IMPORT)
        found = FIGURES[kind](scene)
        while True:
            with matplotlib.rc_context(rc()):  # not active while the caller uses what is yielded
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
    "all_figures",
    "check_look",
    "draw_all",
    "family_figures",
    "register_figure",
]
