"""Render figures that zoom."""

import base64
import json
import re
from pathlib import Path

from PIL import Image

from recall.report.figures import Drawn, Gallery
from recall.report.figures.palette import in_the_dark
from recall.report.page.markup import data_uri, text

_LARGEST_SVG = 600_000  # bytes; above this size, a bitmap takes less space
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b")
_WIDTH = 504.0  # points; width of a figure that spans the text of a page
_PIXELS_PER_POINT = 1.3  # large enough to read the text of a figure
_ZOOM = (
    "<div class='zoom'><button type='button' data-zoom='-1' aria-label='smaller'>\N{MINUS SIGN}"
    "</button><button type='button' data-zoom='1' aria-label='larger'>+</button></div>"
)


def figures_section(gallery: Gallery) -> str:
    """Return the section with all figures, and why others are missing."""
    return (_shown(gallery) if len(gallery) else "") + _missing(gallery)


def _shown(gallery: Gallery) -> str:
    shown = "".join(_figure(drawn, number) for number, drawn in enumerate(gallery))
    values = json.dumps([{"cells": drawn.shades, "panels": []} for drawn in gallery])
    return f"{shown}<script type='application/json' id='values'>{values}</script>"


def _missing(gallery: Gallery) -> str:
    items = "".join(
        f"<li><b>{text(each.kind.replace('_', ' '))}</b>: {text(each.reason)}</li>"
        for each in gallery.skipped
    )
    if not items:
        return ""
    head = f"Figures that could not be drawn ({len(gallery.skipped)})"
    return f"<details><summary>{head}</summary><ul>{items}</ul></details>"


def _figure(drawn: Drawn, number: int) -> str:
    source, (width, height) = _picture(drawn)
    dark = _dark_source(drawn)
    colours = " shades" if drawn.shades else ""
    alternative = text(f"{drawn.title}. {drawn.caption}")
    plain = "" if dark or colours else " inverted"
    return (
        f"<figure class='block'><h3>{text(drawn.title)}</h3>"
        f"<div class='frame' tabindex='0' role='group' aria-label='{text(drawn.title)}: "
        f"values with the arrow keys' data-figure='{number}'>"
        f"<div class='inner{colours}{plain}' style='--wide:{width * _PIXELS_PER_POINT:.0f}px'>"
        f"<picture>{dark}<img src='{source}' alt='{alternative}' width='{width:.0f}' "
        f"height='{height:.0f}' loading='lazy'></picture><div class='cursor' hidden></div></div>"
        f"</div>{_ZOOM}"
        f"<figcaption>{text(drawn.caption)}</figcaption></figure>"
    )


def _picture(drawn: Drawn) -> tuple[str, tuple[float, float]]:
    """Return the image as a data URI, with its width and height in points."""
    svg = drawn.paths.get("svg")
    if svg is not None and svg.stat().st_size <= _LARGEST_SVG:
        return data_uri(svg, "image/svg+xml"), _size_of(svg)
    png = drawn.paths["png"]
    with Image.open(png) as image:
        width, height = image.size
    return data_uri(png, "image/png"), (_WIDTH, _WIDTH * height / width)


def _dark_source(drawn: Drawn) -> str:
    """Return the image for dark screens; nothing for a bitmap, or where shades mean values."""
    svg = drawn.paths.get("svg")
    if svg is None or svg.stat().st_size > _LARGEST_SVG or drawn.shades:
        return ""
    replaced = _COLOUR.sub(lambda found: in_the_dark(found[0].lower()), svg.read_text("utf-8"))
    uri = f"data:image/svg+xml;base64,{base64.b64encode(replaced.encode()).decode()}"
    return f"<source media='(prefers-color-scheme: dark)' srcset='{uri}'>"


def _size_of(svg: Path) -> tuple[float, float]:
    with svg.open(encoding="utf-8") as file:
        found = re.search(r'width="([\d.]+)pt" height="([\d.]+)pt"', file.read(2000))
    return (float(found[1]), float(found[2])) if found else (_WIDTH, _WIDTH / 2)
