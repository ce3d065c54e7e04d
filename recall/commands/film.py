"""`recall film`: the command-line interface of recall.film."""

from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from recall.commands.show import Flag, print_rows, tell
from recall.errors import BadValueError, UnknownNameError


def film(
    folder: Annotated[Positional[Path | None], arg(metavar="[FOLDER]", default=None)],
    task: tuple[str, ...] = (),
    out: Path | None = None,
    run: str | None = None,
    seed: int | None = None,
    at: Literal["learned", "final", "both"] = "both",
    episodes: int = 1,
    deterministic: Flag = False,
    size: tuple[int, int] = (320, 240),
    fps: int = 30,
    every: int | None = None,
    sheet: Flag = False,
) -> None:
    """Film trained policies on their tasks, right after learning each task and at the end.

    Args:
        folder: Folder of a fleet, or of an archived fleet. Without it, --task names a robot task,
            whose policy comes with the package.
        task: Tasks to film; all if none are given. A name, such as push or, of a task that the
            sequence repeats, "3 push"; or a position, from 0 on.
        out: File to write: .mp4, .gif or .png (contact sheet). None: one in FOLDER/films, or here
            without FOLDER.
        run: Name of the run to film. None: the first run.
        seed: Film the first run with this seed.
        at: learned: just after a task was learned; final: at the end; both: side by side.
        episodes: Number of episodes per task, one after the other.
        deterministic: Take the mean action, without noise.
        size: Width and height of each picture in pixels.
        fps: Frames per second.
        every: Steps between two frames. None: as many as give a hundred frames per episode.
        sheet: Write a contact sheet (.png) of how the last episode ends.
    """
    from recall.filming.film import film as make_film
    from recall.policies.policy import trained_tasks

    if sheet and out is not None and out.suffix.lower() != ".png":
        raise BadValueError(
            f"{out}: a contact sheet must be a .png file; without --sheet, a film is written"
        )
    if folder is None:
        if len(task) != 1:
            raise BadValueError("FOLDER is missing; without it, --task names one robot task")
        if task[0] not in trained_tasks():
            raise UnknownNameError("robot task", task[0], trained_tasks())
        folder, task = Path(task[0]), ()
    how = (at, episodes, deterministic, size, fps, every)
    made = make_film(folder, task or None, out, run, seed, *how, sheet=sheet)
    if out is not None and out != made.path:
        tell(f"{out.name} needs ffmpeg, which is not installed; a GIF was written instead")
    for name, why in made.left_out.items():
        tell(f"the film leaves out {name}: {why}")
    if made.lacking:
        tell(f"the film shows one time only: {made.lacking}")
    rows = [
        {
            "task": take.task,
            "at": take.at,
            "success": f"{sum(take.successes)} of {len(take.successes)}",
        }
        for take in made.takes
    ]
    print_rows(rows)
    print(made.path)
