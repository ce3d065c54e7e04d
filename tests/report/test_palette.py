"""Colours that stand out from the paper and stay apart, for colour-blind readers too."""

import itertools

import numpy as np

from recall.methods import METHODS
from recall.report.figures.style import GREY, INK, PALETTE
from recall.report.paper import METHODS as PAPERS

LEAST_CONTRAST = 3.0  # that the web's guidelines for accessibility ask of graphics
# From linear RGB to what readers without one kind of cones see: Machado, Oliveira and Fernandes,
# A Physiologically-based Model for Simulation of Color Vision Deficiency, 2009.
SEEN = {
    "all cones": np.eye(3),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
         [-0.011820, 0.042940, 0.968881]]
    ),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
         [-0.003882, -0.048116, 1.051998]]
    ),
}  # fmt: skip
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
     [0.0193339, 0.1191920, 0.9503041]]
)  # fmt: skip


def linear_rgb(colour: str) -> np.ndarray:
    rgb = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def contrast_with_white(colour: str) -> float:
    return 1.05 / (linear_rgb(colour) @ (0.2126, 0.7152, 0.0722) + 0.05)


def lab(colour: str, vision: np.ndarray) -> np.ndarray:
    """Return a colour as CIE L*a*b*, in which distances are about as large as they look."""
    xyz = TO_XYZ @ np.clip(vision @ linear_rgb(colour), 0, 1) / TO_XYZ.sum(axis=1)
    root = np.where(xyz > 216 / 24389, np.cbrt(xyz), 841 / 108 * xyz + 4 / 29)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


def least_distance(colours, vision: np.ndarray) -> float:
    found = [lab(colour, vision) for colour in colours]
    return min(np.linalg.norm(one - two) for one, two in itertools.combinations(found, 2))


COLOURS = {name: method.colour for name, method in METHODS.items()}


def test_every_method_stands_out_and_stays_apart():
    for vision in SEEN.values():
        assert least_distance(COLOURS.values(), vision) > 15
        assert least_distance([COLOURS[name] for name in PAPERS], vision) > 18
    for colour in (*COLOURS.values(), *PALETTE, INK, GREY):
        assert contrast_with_white(colour) >= LEAST_CONTRAST, colour
