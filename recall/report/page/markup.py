"""Provide small pieces of HTML that all sections use."""

import base64
import html
from collections.abc import Iterable, Mapping
from pathlib import Path

from recall.analysis.run_result import RunResult
from recall.report.figures.palette import in_the_dark
from recall.report.figures.style import line_styles


def text(words: object) -> str:
    """Return anything as text, escaped for HTML."""
    return html.escape(str(words), quote=True)


def colours_of(runs: Iterable[RunResult]) -> dict[str, str]:
    """Return the colour of every label, as in the figures."""
    return {label: style.colour for label, style in line_styles(runs).items()}


def named(label: str, colours: Mapping[str, str]) -> str:
    """Return a label, preceded by a dot in its colour if it has one."""
    if label not in colours:
        return text(label)
    light = colours[label]
    dot = f"<span class='dot' style='--light:{text(light)};--dark:{in_the_dark(light)}'></span>"
    first, space, rest = label.partition(" ")
    with_dot = f"<span class='first'>{dot}{text(first)}</span>"
    return f"<span class='named'>{with_dot}{space}{text(rest)}</span>"


def data_uri(path: Path, kind: str) -> str:
    """Return a file as a data URI that contains all of it."""
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
