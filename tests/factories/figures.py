"""What a test reads from figures: their artists, by label."""

import numpy as np

from recall.report.figures import Figure, Skipped, all_figures


def drawn(scene, kind, name=None) -> Figure:
    """The first figure of a kind, or the one of that name."""
    found = [each for each in all_figures(scene, [kind]) if isinstance(each, Figure)]
    return next(each for each in found if name is None or each.name == name)


def reason(scene, kind) -> str:
    """Why there is no figure of a kind."""
    (found,) = all_figures(scene, [kind])
    assert isinstance(found, Skipped)
    return found.reason


def axes_of(scene, kind, name=None):
    return drawn(scene, kind, name).figure.axes


def titles(axes):
    return [each.get_title(loc="left") for each in axes]


def artists(axes, label):
    return [artist for artist in axes.get_children() if artist.get_label() == label]


def curve(axes, label):
    """Steps and values of the one curve with a label, without the gaps between its parts."""
    (line,) = [each for each in axes.get_lines() if each.get_label() == label]
    there = np.isfinite(line.get_xdata())
    return line.get_xdata()[there], line.get_ydata()[there]


def legend(figure):
    return [text.get_text() for each in figure.legends for text in each.get_texts()]


def rows(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


def heat(axes):
    """The numbers of a heat map."""
    (image,) = axes.get_images()
    return image.get_array().filled(np.nan)
