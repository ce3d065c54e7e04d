"""Colours of the page in the dark: every colour of a figure has a counterpart on dark paper.

Figures are drawn on white paper. For the dark they are not inverted, which would make some lines
too faint: each colour is replaced by one of the same hue that stands out from dark paper.
"""

import numpy as np

from recall.methods import METHODS

WHITE, CARD = "#ffffff", "#1f1f1f"
"""Paper of figures, in the light and in the dark."""
LEAST_CONTRAST = 3.0
"""Contrast that the web's guidelines for accessibility ask of graphics."""
# Of methods, found by a search for colours of the same hue that stay apart for readers without one
# kind of cones; other colours are lightened until they stand out.
_DARK_METHODS = {
    "fine_tuning": "#afafaf",
    "ewc": "#97b9f7",
    "packnet": "#b8ffe6",
    "clonex": "#ff8b09",
    "perfect_memory": "#9331ff",
    "recall": "#f50b00",
    "clear": "#f170ce",
    "agem": "#f3ff9e",
    "l2": "#fee502",
    "mas": "#276fc7",
    "vcl": "#e53df8",
    "reset": "#c9d1ed",
    "multi_task": "#277986",
}
# Greys from ink to paper, and their counterparts.
_GREYS = ((0x00, 0x22, 0x77, 0xC8, 0xEE, 0xFF), (0xF4, 0xE8, 0xA3, 0x5A, 0x33, 0x1F))


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour such as #d62728, from 0 to 1."""
    parts = np.array(_parts(colour)) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def in_the_dark(colour: str) -> str:
    """Return the counterpart of a figure's colour on dark paper."""
    for name, dark in _DARK_METHODS.items():
        if name in METHODS and METHODS[name].colour == colour:
            return dark
    parts = _parts(colour)
    if len(set(parts)) == 1:
        return _hex([round(np.interp(part, *_GREYS)) for part in parts])
    for share in np.arange(0.0, 1.0, 0.1):
        mixed = _hex([round(part + (255 - part) * share) for part in parts])
        if contrast(mixed, CARD) >= LEAST_CONTRAST + 1.0:
            return mixed
    return WHITE


def _parts(colour: str) -> list[int]:
    return [int(colour[place : place + 2], 16) for place in (1, 3, 5)]


def _hex(parts: list[int]) -> str:
    return "#" + "".join(f"{part:02x}" for part in parts)
