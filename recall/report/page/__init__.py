"""Write a report as one HTML file that opens anywhere, without a network."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from string import Template

from recall.analysis.scores import ScoreBoard
from recall.files.atomic import write_text
from recall.report.figures import Gallery
from recall.report.page.figures import figures_section
from recall.report.page.films import Film, films_of, films_section
from recall.report.page.markup import colours_of, named, text
from recall.report.page.origin import origin_html
from recall.report.page.runs import runs_section
from recall.report.page.tables import tables_section
from recall.report.summary import few_seeds, measured, nothing_to_compare, scope, verdicts
from recall.report.tables.table import Table

FILE = "index.html"


def write_page(
    folder: Path,
    board: ScoreBoard,
    tables: list[Table],
    gallery: Gallery,
    left_out: Sequence[str] = (),
    title: str = "runs",
    live: bool = False,
) -> Path:
    """Write `folder/index.html` and return its path; `left_out` is added to the problems.

    `title` says what the report is of. A `live` page is served, and loads itself again when there
    is a newer one.
    """
    path = folder / FILE
    films, too_large = films_of(board.collection.runs)
    problems = [*left_out, *too_large]
    write_text(path, page(board, tables, gallery, films, problems, title, live))
    return path


def page(
    board: ScoreBoard,
    tables: list[Table],
    gallery: Gallery,
    films: list[Film],
    left_out: list[str],
    title: str = "runs",
    live: bool = False,
) -> str:
    """Return the HTML of the page, which contains everything that it shows."""
    collection = board.collection
    colours = colours_of([*collection.sequential.runs, *collection.single.runs])
    sections = {
        "Summary": _summary(board, colours),
        "Problems": _problems([*collection.problems, *left_out]),
        "Tables": tables_section(tables, colours),
        "Figures": figures_section(gallery),
        "Films": films_section(films),
        "Runs": runs_section(collection),
    }
    shown = {title: body for title, body in sections.items() if body}
    return Template(_read("page.html")).substitute(
        style=_read("page.css"),
        script=_read("page.js") + (_read("live.js") if live else ""),
        policy="; connect-src 'self'" if live else "",
        title=text(title),
        scope=text(scope(board)),
        origin=origin_html(collection.runs),
        links="".join(f'<a href="#{title.lower()}">{title}</a>' for title in shown),
        sections="".join(
            f'<section id="{title.lower()}"><h2>{title}</h2>{body}</section>'
            for title, body in shown.items()
        ),
    )


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


def _summary(board: ScoreBoard, colours: dict[str, str]) -> str:
    found = "".join(
        f"<div class='card'><h3>{text(verdict.title)}</h3>"
        + "".join(f"<p>{_with_dot(sentence, colours)}</p>" for sentence in verdict.sentences)
        + "</div>"
        for verdict in verdicts(board)
    )
    if not found:
        found = f"<p>{text(nothing_to_compare(board))}</p>"
    few = f"<p class='caution'>{text(caution)}</p>" if (caution := few_seeds(board)) else ""
    return f"<div class='cards'>{found}</div>{few}<p class='note'>{text(measured(board))}</p>"


def _with_dot(sentence: str, colours: dict[str, str]) -> str:
    """Put a dot in the method's colour before a sentence that begins with a method."""
    label = max((each for each in colours if sentence.startswith(f"{each} ")), key=len, default="")
    if not label:
        return text(sentence)
    return f"{named(label, colours)}{text(sentence[len(label) :])}"


def _problems(problems: list[str]) -> str:
    """Return the section on what is wrong with the records and what was left out."""
    items = "".join(f"<li>{text(problem)}</li>" for problem in problems)
    return f"<ul class='block problems'>{items}</ul>" if items else ""
