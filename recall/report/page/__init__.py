"""Write a report as one HTML file that opens anywhere, without a network.

The template is page.html; this module gathers what it shows. Jinja escapes every text.
"""

import base64
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from recall.analysis.frames import Analysis
from recall.analysis.run_result import RunResult
from recall.files.atomic import write_text
from recall.files.fleet_layout import FILMS, is_archive
from recall.files.paths import is_inside
from recall.report import summary
from recall.report.figures import Drawn, Gallery
from recall.report.figures.style import line_styles
from recall.report.tables.table import MISSING, Table, notes_below, number_text, with_minus
from recall.report.train_command import train_commands
from recall.runs.wording import few
from recall.version import version

FILE = "index.html"
FILM_KINDS = {".mp4": "video/mp4", ".gif": "image/gif", ".png": "image/png"}
MOST_FILM_BYTES = 24_000_000  # of all films, so that the page still opens quickly
SECONDS = 30
"""Seconds after which a live page loads itself again."""
_LARGEST_SVG = 600_000  # bytes; above this size, a bitmap takes less space
_MOST = 6  # names in the heading of a fleet


@dataclass(frozen=True)
class Film:
    """A film or contact sheet, and what it shows."""

    path: Path
    title: str

    @property
    def kind(self) -> str:
        """Return the media type."""
        return FILM_KINDS[self.path.suffix.lower()]


def write_page(
    folder: Path,
    analysis: Analysis,
    tables: Sequence[Table],
    gallery: Gallery,
    problems: Sequence[str] = (),
    title: str = "runs",
    live: bool = False,
    board: bool = False,
) -> Path:
    """Write `folder/index.html` and return its path; `title` says what the report is of.

    A `live` page loads itself again every few seconds. A `board` has no verdicts, since labels that
    it shows in different tables are not compared.
    """
    path = folder / FILE
    films, too_large = films_of(analysis.collection.runs)
    problems = [*problems, *too_large]
    write_text(path, page(analysis, tables, gallery, films, problems, title, live, board))
    return path


def page(
    analysis: Analysis,
    tables: Sequence[Table],
    gallery: Gallery,
    films: Sequence[Film] = (),
    problems: Sequence[str] = (),
    title: str = "runs",
    live: bool = False,
    board: bool = False,
) -> str:
    """Return the HTML of the page, which contains everything that it shows."""
    collection = analysis.collection
    styles = line_styles([*collection.sequential.runs, *collection.single.runs])
    figures = [*gallery]
    fleets, shared = _fleets([*collection.runs, *collection.reference_runs])
    written = _template().render(
        heading=f"{'Board' if board else 'Report'} of {title}",
        board=board,
        refresh=SECONDS if live else None,
        scope=summary.scope(collection),
        verdicts=summary.verdicts(analysis),
        nothing=summary.nothing_to_compare(collection),
        caution=summary.few_seeds(collection),
        measured=summary.measured(analysis.measure, analysis.scores),
        dots={label: style.colour for label, style in styles.items()},
        tables=_grouped(tables),
        headline=figures[:1],
        figures=figures[1:],
        skipped=gallery.skipped,
        films=films,
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
        "uri": lambda film: data_uri(film.path, film.kind),
        "picture": picture,
        "setting": _setting,
        "options": lambda command: re.split(r" (?=--)", command),
    }
    environment.globals |= {"missing": MISSING}
    return environment.get_template("page.html")


def data_uri(path: Path, kind: str) -> str:
    """Return a file as a data URI that contains all of it."""
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def picture(drawn: Drawn) -> str:
    """Return a figure as a data URI: as SVG, or as a bitmap where that takes less space."""
    svg = drawn.paths.get("svg")
    if svg is not None and svg.stat().st_size <= _LARGEST_SVG:
        return data_uri(svg, "image/svg+xml")
    return data_uri(drawn.paths["png"], "image/png")


def _grouped(tables: Sequence[Table]) -> list[Table]:
    """Return the tables in their groups, each with its details last."""
    groups = [
        list(each) for _, each in groupby(tables, key=lambda table: table.group or table.name)
    ]
    return [table for group in groups for table in sorted(group, key=lambda table: table.detail)]


def films_of(
    runs: Iterable[RunResult], most_bytes: int = MOST_FILM_BYTES
) -> tuple[list[Film], list[str]]:
    """Return the fleets' films that fit into `most_bytes`, and sentences about the others."""
    labels: dict[Path, dict[str, None]] = {}
    for run in runs:
        labels.setdefault(run.folder, {})[run.label] = None
    films, left_out, used = [], [], 0
    for folder, names in labels.items():
        for path in sorted((folder / FILMS).glob("[!.]*")):
            if path.suffix.lower() not in FILM_KINDS:
                continue
            if not (path.is_file() and is_inside(path, folder)):
                left_out.append(f"{path} is not on the page: it is no file of its fleet's folder.")
            elif used + path.stat().st_size > most_bytes:
                left_out.append(f"{path} is not on the page, which would become too large.")
            else:
                used += path.stat().st_size
                films.append(Film(path, f"{', '.join(names)}: {path.stem}"))
    return films, left_out


def _fleets(runs: Sequence[RunResult]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return what the template shows of every fleet, and the settings that all of them share."""
    groups: dict[Path, list[RunResult]] = {}
    for run in runs:
        groups.setdefault(run.folder, []).append(run)
    settings = [group[0].settings for group in groups.values()]
    shared = {
        name: value
        for name, value in (settings[0] if settings else {}).items()
        if all(name in each and each[name] == value for each in settings)
    }
    return [_fleet(group, shared) for group in groups.values()], shared


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
        "imported": first.source != "recall",
        "archived": is_archive(first.folder),
        "functions": ", ".join(about.get("functions") or ()),
        "commands": train_commands(about) if about and first.source == "recall" else [],
        "runs": [
            (run.name, run.seed, int(run.steps[-1]) if len(run.steps) else 0, _state(run))
            for run in runs
        ],
        "settings": {n: value for n, value in first.settings.items() if n not in shared},
        "made": ", ".join(made),
    }


def _state(run: RunResult) -> str:
    if run.failed_at is not None:
        return f"failed at {run.failed_at:,}"
    if not run.recorded:
        return "evaluations lost"
    return "finished" if run.finished else "unfinished"


def _setting(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def origin() -> str:
    """Return the date and version of the report.

    SOURCE_DATE_EPOCH stands for the time in reproducible builds.
    """
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    moment = time.gmtime(int(seconds) if seconds else None)
    date = f"{moment.tm_mday} {time.strftime('%B %Y at %H:%M UTC', moment)}"
    return f"Made on {date} with recall {version()}."
