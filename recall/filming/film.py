"""Film trained policies: each when its task was just learnt, and at the end of the sequence."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from PIL import Image

from recall.collect.messages import EVALUATION
from recall.config.spec import FleetSpec, RunSpec, spec_from
from recall.errors import BadValueError, UnknownNameError
from recall.files.contained import check_inside
from recall.files.fleet_layout import FILMS
from recall.files.given import given_path
from recall.files.names import file_name
from recall.filming.compose import Tile, animate, in_rows
from recall.filming.encode import SHEET, writable, write
from recall.filming.episode import Frame, filmed_episode
from recall.filming.shots import Shot, shots_of
from recall.filming.takes import Take, When, chosen_run, takes_of
from recall.runs.evaluations import Mode
from recall.runs.store import read_description
from recall.settings.checked import Count, from_plain
from recall.training.evaluation import streams
from recall.training.provenance import check_unedited
from recall.worlds.registry import Task, horizon_steps
from recall.worlds.task_names import TaskName, as_tasks, chosen_positions, numbered

SIZE = (320, 240)
_FRAMES = 100  # per episode, by default
_SMALLEST, _LARGEST = 32, 4096
_SUBTITLES = {"before": "just learnt", "after": "at the end"}


@dataclass(frozen=True)
class Film:
    """A finished film; its path differs from the requested one if ffmpeg is not installed."""

    path: Path
    run: str
    takes: tuple[Take, ...]
    left_out: dict[str, str] = field(default_factory=dict)
    """The tasks that cannot be drawn, and why."""


@dataclass(frozen=True)
class _Manner:
    """The settings of a film's images."""

    deterministic: bool
    size: tuple[int, int]
    every: int
    hold: int


def film(
    folder: str | Path,
    tasks: Sequence[TaskName] | TaskName | None = None,
    out: str | Path | None = None,
    run: str | None = None,
    seed: int | None = None,
    when: When = "both",
    episodes: int = 1,
    deterministic: bool = False,
    size: tuple[int, int] = SIZE,
    fps: int = 30,
    every: int | None = None,
    functions: Mapping[str, Task] | None = None,
    sheet: bool = False,
) -> Film:
    """Film the policies of one run of the fleet in `folder`, on all its tasks or those named.

    Each task is played twice, with equal starts, goals and noise: by the policy that had just
    learnt it (before later tasks could make it forget) and by the policy at the end. The episodes
    are those of a finished fleet's last evaluation. For an unfinished fleet, the tasks that it has
    finished are shown. Tasks that cannot be drawn are left out; `left_out` of the film says why. A
    task is named as in `recall.evaluate`.

    `out` ends in .mp4, .gif or .png. An .mp4 becomes a .gif if ffmpeg is not installed; a .png is a
    contact sheet of how the episodes end; None writes into the fleet's folder, a film or, with
    `sheet`, a contact sheet. The name there says what is shown. `run` or `seed`
    selects a run, by default the first one. A frame is taken every `every` steps; None takes about
    a hundred per episode. `functions` provides the functions that the fleet was started with, if
    any.
    """
    episodes, fps = from_plain(Count, episodes, "episodes"), from_plain(Count, fps, "fps")
    every, size = from_plain(Count | None, every, "every"), _checked_size(size)
    named = as_tasks(tasks)
    if when not in get_args(When):
        raise UnknownNameError("time", when, get_args(When))
    folder = given_path(folder, "folder")
    description = read_description(folder)
    check_unedited(folder, description)
    spec = spec_from(description, functions)
    chosen = chosen_run(folder, spec, run, seed, named)
    takes = takes_of(folder, spec, chosen, named, when)
    asked = None if out is None else given_path(out, "out", "file")
    if out is None:
        name = _name(chosen, named, when, deterministic)
        out = folder / FILMS / f"{name}{SHEET if sheet else '.mp4'}"
        check_inside(folder / FILMS, folder)
    path = writable(Path(out))
    if asked is not None and path != asked and path.exists():
        raise BadValueError(
            f"{asked} needs ffmpeg, which is not installed, and {path} exists: to replace it, give "
            "its name"
        )
    longest = max(horizon_steps(task, spec.settings.world) for task in chosen.tasks)
    if path.suffix.lower() == SHEET:
        every = longest  # only the end of each episode is shown
    manner = _Manner(deterministic, size, every or -(-longest // _FRAMES), max(1, fps // 2))
    with ExitStack() as simulators:
        shots, left_out = shots_of(chosen, takes, spec.settings.world, size, simulators)
        write(_pictures(spec, chosen, shots, episodes, manner), path, fps)
    return Film(path, chosen.name, tuple(shot.take for shot in shots), left_out)


def _checked_size(size: tuple[int, int]) -> tuple[int, int]:
    width, height = from_plain(tuple[int, int], size, "size")
    if not all(_SMALLEST <= side <= _LARGEST for side in (width, height)):
        raise BadValueError(
            f"a picture of {width} x {height}: sides are from {_SMALLEST} to {_LARGEST}"
        )
    return width, height


def _name(run: RunSpec, tasks: Sequence[TaskName] | None, when: When, deterministic: bool) -> str:
    """Return a file name for what a film shows, so that another film does not overwrite it."""
    titles = [numbered(run.task_names)[each] for each in chosen_positions(tasks, run.task_names)]
    shown = "all" if tasks is None else "+".join(titles)
    parts = [run.name, shown]
    parts += [when] if when != "both" else []
    parts += ["deterministic"] if deterministic else []
    return file_name("-".join(parts))


def _pictures(
    spec: FleetSpec,
    run: RunSpec,
    shots: Sequence[Shot],
    episodes: int,
    manner: _Manner,
) -> Iterator[Image.Image]:
    """Yield the images of one episode after another, with all takes side by side."""
    mode: Mode = "deterministic" if manner.deterministic else "stochastic"
    for episode in range(episodes):
        tiles: dict[int, list[Tile]] = {}
        for take, simulator, horizon in shots:
            stream = streams(
                run.own_seed, EVALUATION, take.position, spec.total_steps, mode, episodes
            )[episode]
            frames = filmed_episode(
                simulator, horizon, take.policy, stream, manner.deterministic, manner.size,
                manner.every,
            )  # fmt: skip
            tile = Tile(take.task, _SUBTITLES[take.when], _counted(frames, take))
            tiles.setdefault(take.position, []).append(tile)
        yield from animate(in_rows(list(tiles.values())), manner.size, manner.hold)


def _counted(frames: Iterator[Frame], take: Take) -> Iterator[Frame]:
    """Yield the frames of an episode, and count its success from the last one."""
    frame = None
    for frame in frames:
        yield frame
    if frame is not None:
        take.successes.append(frame.success)
