"""Draw the figures of a report; each module draws one kind.

A module defines `KIND` and `make_figures`, which yields figures or reasons why there are none;
`draw_all` saves the figures.
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
from recall.report.figures import (
    ablation,
    average_success,
    current_task,
    pair_matrices,
    plasticity,
    profiles,
    q_scale,
    scaling,
    seeds,
    task_curves,
    task_map,
    task_returns,
    task_switch,
    transfer_areas,
)
from recall.report.figures.figure import (
    Detailed,
    Drawn,
    Figure,
    Gallery,
    Panel,
    Scene,
    Series,
    Skipped,
)
from recall.report.figures.layout import FORMATS, save
from recall.report.figures.style import LOOK, Look, rc
from recall.settings.checked import from_plain

MakeFigures = Callable[[Scene], Iterator[Figure | Skipped]]

# In the order of a report.
_OURS: dict[str, MakeFigures] = {
    module.KIND: module.make_figures
    for module in (
        average_success,
        current_task,
        seeds,
        profiles,
        task_map,
        task_curves,
        task_returns,
        transfer_areas,
        pair_matrices,
        ablation,
        scaling,
        task_switch,
        q_scale,
        plasticity,
    )
}


def _checked(kind: str, make_figures: Any) -> MakeFigures:
    if not callable(make_figures):
        raise BadValueError(f"figure {kind!r} is {make_figures!r}, not a function of a scene")
    return make_figures


FIGURES: Registry[MakeFigures] = Registry("recall.figures", _OURS, _checked)


def register_figure(kind: str, make_figures: MakeFigures) -> None:
    """Add a figure to every report: a function that yields figures, or why there are none."""
    if kind in _OURS:
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
        drawn.append(Drawn(found.kind, found.name, found.title, found.caption, paths, found.panels))
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
    "Panel",
    "Scene",
    "Series",
    "Skipped",
    "all_figures",
    "check_look",
    "draw_all",
    "register_figure",
]
