"""`recall film`: a cover of recall.film."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from recall.commands.show import print_rows
from recall.errors import BadValueError

if TYPE_CHECKING:
    from recall.filming.film import Film

_SHEET = "sheet.png"


def film(
    folder: Positional[Path],
    task: Annotated[tuple[str, ...], arg(help="Only these tasks.")] = (),
    out: Annotated[
        Path | None,
        arg(help="A name in .mp4, .gif or .png (a contact sheet). None: in FOLDER/films."),
    ] = None,
    run: Annotated[str | None, arg(help="The run to film. None: the first.")] = None,
    seed: Annotated[int | None, arg(help="The first run with this seed.")] = None,
    when: Annotated[
        Literal["before", "after", "both"],
        arg(help="before: as just learnt; after: at the end of the sequence; both side by side."),
    ] = "both",
    episodes: Annotated[int, arg(help="Of each task, one after the other.")] = 1,
    deterministic: Annotated[bool, arg(help="Act by the mean, without noise.")] = False,
    size: Annotated[tuple[int, int], arg(help="Width and height of each picture.")] = (320, 240),
    fps: Annotated[int, arg(help="Frames per second.")] = 30,
    every: Annotated[
        int | None, arg(help="Steps from one frame to the next. None: a hundred frames an episode.")
    ] = None,
    sheet: Annotated[
        bool, arg(help="A contact sheet: how the last episode ends, as a .png.")
    ] = False,
) -> None:
    """Film trained policies on their tasks: as each was just learnt, and at the end."""
    from recall.filming.film import film as make_film
    from recall.results.fleet_folder import FILMS

    if sheet and out is None:
        out = folder / FILMS / _SHEET
    if sheet and out is not None and out.suffix.lower() != ".png":
        raise BadValueError(f"{out}: a contact sheet is a .png; without --sheet it is a film")
    made = make_film(
        folder, task or None, out, run, seed, when, episodes, deterministic, size, fps, every
    )
    _tell(made, out)


def _tell(made: "Film", asked: Path | None) -> None:
    if asked is not None and asked != made.path:
        print(f"{asked.name} needs ffmpeg, which is not installed: a GIF instead", file=sys.stderr)
    print_rows(
        [
            {
                "task": take.task,
                "when": take.when,
                "success": f"{sum(take.successes)} of {len(take.successes)}",
            }
            for take in made.takes
        ]
    )
    print(made.path)
