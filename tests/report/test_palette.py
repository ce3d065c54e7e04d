"""Colours that stand out from the paper and stay apart, for colour-blind readers too."""

import itertools

import numpy as np
import pytest

from recall.methods import METHODS
from recall.report.figures.palette import CARD, LEAST_CONTRAST, WHITE, contrast, in_the_dark
from recall.report.figures.style import GREY, INK, PALETTE
from recall.report.paper import METHODS as PAPERS

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


def lab(colour: str, vision: np.ndarray) -> np.ndarray:
    """Return a colour as CIE L*a*b*, in which distances are about as large as they look."""
    rgb = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(vision @ linear, 0, 1) / TO_XYZ.sum(axis=1)
    root = np.where(xyz > 216 / 24389, np.cbrt(xyz), 841 / 108 * xyz + 4 / 29)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


def least_distance(colours, vision: np.ndarray) -> float:
    found = [lab(colour, vision) for colour in colours]
    return min(np.linalg.norm(one - two) for one, two in itertools.combinations(found, 2))


LIGHT = {name: method.colour for name, method in METHODS.items()}
DARK = {name: in_the_dark(colour) for name, colour in LIGHT.items()}


def test_the_distance_and_the_contrast_are_the_known_ones():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)
    assert lab("#ff0000", SEEN["all cones"]) == pytest.approx([53.24, 80.09, 67.20], abs=0.05)
    # Red and green of one lightness are far apart for most readers, and near for some.
    confused = ["#a05252", "#6f6f35"]
    near = least_distance(confused, SEEN["deuteranopia"])
    assert near < 0.5 * least_distance(confused, SEEN["all cones"])


@pytest.mark.parametrize(("colours", "paper"), [(LIGHT, WHITE), (DARK, CARD)])
def test_every_method_stands_out_and_stays_apart(colours, paper):
    assert min(contrast(colour, paper) for colour in colours.values()) >= LEAST_CONTRAST
    for vision in SEEN.values():
        assert least_distance(colours.values(), vision) > 15
        assert least_distance([colours[name] for name in PAPERS], vision) > 18


def test_a_method_has_one_hue_in_the_light_and_in_the_dark():
    for name, light in LIGHT.items():
        one, other = (lab(colour, SEEN["all cones"])[1:] for colour in (light, DARK[name]))
        if np.hypot(*one) > 5:  # grey has no hue
            apart = np.arctan2(*one) - np.arctan2(*other)
            assert abs(np.angle(np.exp(1j * apart), deg=True)) < 25, name


def test_other_lines_and_texts_stand_out_too():
    for colour in (*PALETTE, INK, GREY):
        assert contrast(colour, WHITE) >= LEAST_CONTRAST, colour
        assert contrast(in_the_dark(colour), CARD) >= LEAST_CONTRAST, colour
    assert in_the_dark(WHITE) == CARD
