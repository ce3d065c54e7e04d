"""Put figures into a page as inline SVG, whose colours follow the page's light or dark theme."""

import re
from pathlib import Path
from xml.etree import ElementTree

from recall.report.figures.palette import in_the_dark

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b")
_LINK = re.compile(r"url\(#([^)]*)\)")
ElementTree.register_namespace("", _SVG)
ElementTree.register_namespace("xlink", _XLINK)


class Palette:
    """The colours that a page uses, as CSS variables with a counterpart for dark screens."""

    def __init__(self) -> None:
        self.dark: dict[str, str] = {}
        """The counterpart of every colour that was used."""

    def variable(self, colour: str) -> str:
        """Return the CSS value that stands for a colour such as #d62728."""
        colour = colour.lower()
        self.dark.setdefault(colour, in_the_dark(colour))
        return f"var(--c-{colour[1:]})"


def inline(path: Path, prefix: str, palette: Palette | None) -> tuple[str, float]:
    """Return a figure's SVG for a page, and its width in points.

    Its identifiers get a prefix, since those of several figures would be the same, and its colours
    become variables of the palette, if there is one. Comments and metadata are left out.
    """
    root = ElementTree.fromstring(path.read_bytes())
    width = float(root.attrib.pop("width", "504pt").removesuffix("pt"))
    root.attrib.pop("height", None)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
        for name, value in parent.attrib.items():
            if name == "id":
                value = f"{prefix}{value}"
            elif name in ("href", f"{{{_XLINK}}}href") and value.startswith("#"):
                value = f"#{prefix}{value[1:]}"
            else:
                value = _LINK.sub(rf"url(#{prefix}\1)", value)
                if name == "style" and palette is not None:
                    value = _COLOUR.sub(lambda found: palette.variable(found[0]), value)
            parent.set(name, value)
    root.set("aria-hidden", "true")  # the caption says what it shows
    return ElementTree.tostring(root, "unicode"), width
