"""Embed the films from the fleets' folders in the page."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from recall.analysis.run_result import RunResult
from recall.files.fleet_layout import FILMS
from recall.files.paths import is_inside
from recall.report.page.markup import data_uri, text

KINDS = {".mp4": "video/mp4", ".gif": "image/gif", ".png": "image/png"}
MOST_BYTES = 24_000_000  # total size of all films, so that the page still opens quickly


@dataclass(frozen=True)
class Film:
    """A film or contact sheet, and what it shows."""

    path: Path
    title: str


def films_of(
    runs: Iterable[RunResult], most_bytes: int = MOST_BYTES
) -> tuple[list[Film], list[str]]:
    """Return the films that fit into `most_bytes`, and sentences about those that do not."""
    labels: dict[Path, dict[str, None]] = {}
    for run in runs:
        labels.setdefault(run.folder, {})[run.label] = None
    films, left_out, used = [], [], 0
    for folder, names in labels.items():
        for path in sorted((folder / FILMS).glob("[!.]*")):
            if path.suffix.lower() not in KINDS:
                continue
            if not (path.is_file() and is_inside(path, folder)):
                left_out.append(f"{path} is not on the page: it is no file of its fleet's folder.")
                continue
            size = path.stat().st_size
            if used + size > most_bytes:
                left_out.append(f"{path} is not on the page, which would become too large.")
                continue
            used += size
            films.append(Film(path, f"{', '.join(names)}: {path.stem}"))
    return films, left_out


def films_section(films: list[Film]) -> str:
    """Return the section with all films, each with its title; videos have playback controls."""
    shown = []
    for film in films:
        kind = KINDS[film.path.suffix.lower()]
        source, title = data_uri(film.path, kind), text(film.title)
        if kind.startswith("video"):
            body = (
                f"<video controls muted loop playsinline preload='metadata' src='{source}' "
                f"aria-label='{title}'></video>"
            )
        else:
            body = f"<img src='{source}' alt='{title}' loading='lazy'>"
        shown.append(f"<figure class='block film'>{body}<figcaption>{title}</figcaption></figure>")
    return f"<div class='films'>{''.join(shown)}</div>" if shown else ""
