"""Colours that stand out from the paper and stay apart, for colour-blind readers too."""

from itertools import combinations

import numpy as np

from recall.methods import METHODS
from recall.report.figures.layout import GREY, INK, PALETTE

# What readers without one kind of cones see of linear RGB: Machado, Oliveira and Fernandes, A
# Physiologically-based Model for Simulation of Color Vision Deficiency, 2009.
SEEN = {
    "all cones": np.eye(3),
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
}
TO_XYZ = np.array([[0.412, 0.358, 0.180], [0.213, 0.715, 0.072], [0.019, 0.119, 0.950]])


def linear_rgb(colour: str) -> np.ndarray:
    rgb = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(colour: str, vision) -> np.ndarray:
    """Return a colour as CIE L*a*b*, in which distances are about as large as they look."""
    xyz = TO_XYZ @ np.clip(vision @ linear_rgb(colour), 0, 1) / TO_XYZ.sum(axis=1)
    root = np.where(xyz > 216 / 24389, np.cbrt(xyz), 841 / 108 * xyz + 4 / 29)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


def test_every_method_stands_out_and_stays_apart():
    colours = [method.colour for method in METHODS.values()]
    for vision in SEEN.values():
        seen = [lab(colour, vision) for colour in colours]
        assert min(np.linalg.norm(one - two) for one, two in combinations(seen, 2)) > 15
    for colour in (*colours, *PALETTE, INK, GREY):
        contrast_with_white = 1.05 / (linear_rgb(colour) @ TO_XYZ[1] + 0.05)
        assert contrast_with_white >= 3.0, colour  # as guidelines for accessibility ask
