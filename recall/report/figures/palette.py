"""Colours of the page in the dark: every colour of a figure has a counterpart on dark paper.

Figures are drawn on white paper. For the dark they are not inverted, which would make some lines
too faint: each colour is replaced by one that has been chosen for dark paper.
"""

from recall.methods import METHODS

WHITE, CARD = "#ffffff", "#1f1f1f"
"""Paper of figures, in the light and in the dark."""
LEAST_CONTRAST = 3.0
"""Contrast that the web's guidelines for accessibility ask of graphics."""
# Of methods, by name; the others are lightened until they stand out.
_DARK_METHODS = {
    "fine_tuning": "#a0a0a0",
    "ewc": "#276fd9",
    "packnet": "#76fbc7",
    "clonex": "#94681d",
    "perfect_memory": "#a59aff",
    "recall": "#ff6b6b",
    "l2": "#75b904",
    "mas": "#7dc9f2",
    "agem": "#faff60",
    "vcl": "#d50468",
    "clear": "#d4159d",
    "reset": "#6d53ff",
    "multi_task": "#6dfdf9",
}
# Of paper, ink, grids and marks, from figures/style.py and the figures' own greys.
_DARK_GREYS = {
    WHITE: CARD,
    "white": CARD,
    "#222222": "#e8e8e6",
    "#777777": "#a3a3a0",
    "#8c8c8c": "#909090",
    "#c8c8c8": "#5a5a5a",
    "#bbbbbb": "#6a6a6a",
    "#e4e4e4": "#3c3c3c",
    "#eeeeee": "#333333",
    "#ececec": "#383838",
    "#f0f0f0": "#2b2b2b",
    "#f3f3f3": "#292929",
}


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour such as #d62728, from 0 to 1."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def in_the_dark(colour: str) -> str:
    """Return the counterpart of a figure's colour on dark paper."""
    own = {METHODS[name].colour: dark for name, dark in _DARK_METHODS.items() if name in METHODS}
    found = _DARK_GREYS.get(colour) or own.get(colour)
    return found or _lightened(colour)


def _lightened(colour: str) -> str:
    """Mix a colour with white until it stands out from dark paper."""
    parts = [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
    for step in range(11):
        mixed = [round(part + (255 - part) * step / 10) for part in parts]
        found = "#" + "".join(f"{part:02x}" for part in mixed)
        if contrast(found, CARD) >= LEAST_CONTRAST + 1.0:
            return found
    return WHITE
