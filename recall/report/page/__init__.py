"""Write a report as one HTML file that opens anywhere, without a network, from page.html."""

import base64
import os
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from recall.analysis.frames import Analysis
from recall.analysis.labels import grouped
from recall.analysis.run_result import RunResult
from recall.report import summary
from recall.report.figures import Drawn, Gallery
from recall.report.figures.layout import line_styles
from recall.report.tables.pivot import MISSING, Table, notes_below, number_text, with_minus
from recall.report.train_command import train_commands
from recall.runs.wording import few
from recall.version import version

SECONDS = 30
"""Seconds after which a live page loads itself again."""
_LARGEST_SVG = 600_000  # bytes; above this size, a bitmap takes less space
_MOST = 6  # names in the heading of a fleet


def page(
    analysis: Analysis,
    tables: Sequence[Table],
    gallery: Gallery,
    problems: Sequence[str] = (),
    title: str = "runs",
    live: bool = False,
    board: bool = False,
) -> str:
    """Return the HTML of the page, which contains everything that it shows.

    `title` says what the report is of. A `live` page loads itself again every few seconds. A
    `board` has no verdicts, since labels in different tables are not compared.
    """
    collection = analysis.collection
    styles = line_styles([*collection.sequential.runs, *collection.single.runs])
    fleets, shared = _fleets([*collection.runs, *collection.reference_runs])
    written = _template().render(
        heading=f"{'Board' if board else 'Report'} of {title}",
        board=board,
        refresh=SECONDS if live else None,
        scope=summary.scope(collection),
        verdicts=summary.verdicts(analysis),
        caution=summary.few_seeds(collection),
        measured=summary.measured(analysis.measure),
        dots={label: style.colour for label, style in styles.items()},
        tables=tables,
        headline=gallery.drawn[:1],
        figures=gallery.drawn[1:],
        skipped=gallery.skipped,
        problems=problems,
        fleets=fleets,
        shared=shared,
        origin=origin(),
    )
    return written.lstrip()  # the macros above leave empty lines


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "minus": with_minus,
        "number": number_text,
        "notes": notes_below,
        "picture": picture,
        "setting": _setting,
    }
    environment.globals |= {"missing": MISSING}
    return environment.get_template("page.html")


def picture(drawn: Drawn) -> str:
    """Return a figure as a data URI: as SVG, or as a bitmap where that takes less space."""
    path, kind = drawn.paths["svg"], "svg+xml"
    if path.stat().st_size > _LARGEST_SVG:
        path, kind = drawn.paths["png"], "png"
    return f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def _fleets(runs: Sequence[RunResult]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return what the template shows of every fleet, and the settings that all of them share."""
    groups = [*grouped(runs, lambda run: run.folder).values()]
    settings = [group[0].settings for group in groups]
    shared = {
        name: value
        for name, value in (settings[0] if settings else {}).items()
        if all(name in each and each[name] == value for each in settings)
    }
    return [_fleet(group, shared) for group in groups], shared


def _fleet(runs: Sequence[RunResult], shared: Mapping[str, Any]) -> dict[str, Any]:
    first = runs[0]
    about, machine = first.description, first.description.get("machine") or {}
    made = [f"{name} {version}" for name, version in (about.get("versions") or {}).items()]
    made += [str(machine[name]) for name in ("processor", "system") if machine.get(name)]
    made += machine.get("accelerators") or []
    return {
        "labels": few(dict.fromkeys(run.label for run in runs), _MOST),
        "sequences": few(dict.fromkeys(run.sequence for run in runs), _MOST),
        "seeds": " ".join(map(str, dict.fromkeys(run.seed for run in runs))),
        "folder": first.folder,
        "functions": ", ".join(about.get("functions") or ()),
        "commands": train_commands(about) if about and first.source == "recall" else [],
        "runs": [
            (run.name, run.seed, int(run.steps[-1]) if len(run.steps) else 0, run.state)
            for run in runs
        ],
        "settings": {n: value for n, value in first.settings.items() if n not in shared},
        "made": ", ".join(made),
    }


def _setting(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def origin() -> str:
    """Return the date (SOURCE_DATE_EPOCH in reproducible builds) and version of the report."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    moment = time.gmtime(int(seconds) if seconds else None)
    date = f"{moment.tm_mday} {time.strftime('%B %Y at %H:%M UTC', moment)}"
    return f"Made on {date} with recall {version()}."
