"""Film trained policies: each when its task was just learnt, and at the end of the sequence."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from PIL import Image

from recall.collect.messages import EVALUATION
from recall.collect.policy import NumpyPolicy
from recall.config.spec import FleetSpec, RunSpec, spec_from
from recall.errors import BadValueError, UnknownNameError
from recall.files.contained import check_inside
from recall.files.fleet_layout import FILMS, FINAL, learnt
from recall.files.names import file_name
from recall.filming.compose import Tile, animate, in_rows
from recall.filming.encode import SHEET, writable, write
from recall.filming.episode import Frame, filmed_episode
from recall.filming.nothing_to_film import nothing_to_film
from recall.learn import fleet
from recall.results.evaluations import Mode
from recall.results.policies import has_policies, read_policy
from recall.results.store import read_description
from recall.settings.checked import Count, from_plain
from recall.training.agents import agent_of
from recall.training.evaluation import streams
from recall.training.unedited import check_unedited
from recall.worlds.registry import Task, horizon_steps, make_simulator, task_label

When = Literal["before", "after", "both"]
SIZE = (320, 240)
_FRAMES = 100  # per episode, by default
_SMALLEST, _LARGEST = 32, 4096
_SUBTITLES = {"before": "just learnt", "after": "at the end"}


@dataclass
class Take:
    """One policy on its task, and the results of its episodes."""

    task: str
    when: str
    position: int
    policy: NumpyPolicy
    successes: list[bool] = field(default_factory=list)


@dataclass(frozen=True)
class Film:
    """A finished film; its path differs from the requested one if ffmpeg is not installed."""

    path: Path
    run: str
    takes: tuple[Take, ...]


@dataclass(frozen=True)
class _Manner:
    """The settings of a film's images."""

    deterministic: bool
    size: tuple[int, int]
    every: int
    hold: int


def film(
    folder: str | Path,
    tasks: Sequence[str] | str | None = None,
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
    finished are shown.

    `out` ends in .mp4, .gif or .png. An .mp4 becomes a .gif if ffmpeg is not installed; a .png is a
    contact sheet of how the episodes end; None writes into the fleet's folder, a film or, with
    `sheet`, a contact sheet. The name there says what is shown. `run` or `seed`
    selects a run, by default the first one. A frame is taken every `every` steps; None takes about
    a hundred per episode. `functions` provides the functions that the fleet was started with, if
    any.
    """
    episodes, fps = from_plain(Count, episodes, "episodes"), from_plain(Count, fps, "fps")
    every, size = from_plain(Count | None, every, "every"), _checked_size(size)
    tasks = (tasks,) if isinstance(tasks, str) else tasks
    if when not in get_args(When):
        raise UnknownNameError("time", when, get_args(When))
    folder = Path(folder)
    description = read_description(folder)
    check_unedited(folder, description)
    spec = spec_from(description, functions)
    chosen = _chosen_run(folder, spec, run, seed, tasks)
    takes = _takes(folder, spec, chosen, tasks, when)
    asked = None if out is None else Path(out)
    if out is None:
        name = _name(chosen, tasks, when, deterministic)
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
        write(_pictures(spec, chosen, takes, episodes, manner, simulators), path, fps)
    return Film(path, chosen.name, tuple(takes))


def _checked_size(size: tuple[int, int]) -> tuple[int, int]:
    width, height = from_plain(tuple[int, int], size, "size")
    if not all(_SMALLEST <= side <= _LARGEST for side in (width, height)):
        raise BadValueError(
            f"a picture of {width} x {height}: sides are from {_SMALLEST} to {_LARGEST}"
        )
    return width, height


def _name(run: RunSpec, tasks: Sequence[str] | None, when: When, deterministic: bool) -> str:
    """Return a file name for what a film shows, so that another film does not overwrite it."""
    shown = "all" if tasks is None else "+".join(tasks)
    parts = [run.name, shown]
    parts += [when] if when != "both" else []
    parts += ["deterministic"] if deterministic else []
    return file_name("-".join(parts))


def _chosen_run(
    folder: Path,
    spec: FleetSpec,
    name: str | None,
    seed: int | None,
    tasks: Sequence[str] | None,
) -> RunSpec:
    """Return the first run of that name and seed that has the tasks, and policies if any has."""
    if name is not None and name not in [run.name for run in spec.runs]:
        raise UnknownNameError("run of this fleet", name, [run.name for run in spec.runs])
    if seed is not None and seed not in [run.seed for run in spec.runs]:
        there = " ".join(str(seed) for seed in dict.fromkeys(run.seed for run in spec.runs))
        raise BadValueError(f"no run has seed {seed}; there are {there}")
    matching = [run for run in spec.runs if name in (None, run.name) and seed in (None, run.seed)]
    if not matching:
        raise BadValueError(f"run {name} has another seed than {seed}: leave one of them out")
    labels = dict.fromkeys(task_label(each) for run in matching for each in run.tasks)
    for task in tasks or ():
        if task not in labels:
            raise UnknownNameError("task of this fleet", task, labels)
        matching = [run for run in matching if task in map(task_label, run.tasks)]
    if not matching:
        raise BadValueError(f"no single run has all of the tasks {', '.join(tasks or ())}")
    return next((run for run in matching if has_policies(folder, run.name)), matching[0])


def _takes(
    folder: Path, spec: FleetSpec, run: RunSpec, tasks: Sequence[str] | None, when: When
) -> list[Take]:
    """Return every chosen task at every chosen time for which there is a policy."""
    shape = fleet.policy_shape(agent_of(spec)[0])
    labels = [task_label(task) for task in run.tasks]
    takes = []
    for position, label in enumerate(labels):
        if tasks is not None and label not in tasks:
            continue
        title = label if labels.count(label) == 1 else f"{label} ({position + 1})"
        for time in ("before", "after") if when == "both" else (when,):
            file = learnt(position) if time == "before" else FINAL
            vector = read_policy(folder, run.name, position, file, shape.size)
            if vector is not None:
                takes.append(Take(title, time, position, NumpyPolicy(shape, vector)))
    if not takes:
        raise BadValueError(nothing_to_film(folder, run.name, labels, when))
    return takes


def _pictures(
    spec: FleetSpec,
    run: RunSpec,
    takes: Sequence[Take],
    episodes: int,
    manner: _Manner,
    simulators: ExitStack,
) -> Iterator[Image.Image]:
    """Yield the images of one episode after another, with all takes side by side."""
    world = spec.settings.world
    stages = []
    for take in takes:
        simulator = make_simulator(run.tasks[take.position], 1, world)
        simulators.enter_context(closing(simulator))
        stages.append((take, simulator, horizon_steps(run.tasks[take.position], world)))
    mode: Mode = "deterministic" if manner.deterministic else "stochastic"
    for episode in range(episodes):
        tiles: dict[int, list[Tile]] = {}
        for take, simulator, horizon in stages:
            stream = streams(run.seed, EVALUATION, take.position, spec.total_steps, mode, episodes)[
                episode
            ]
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
