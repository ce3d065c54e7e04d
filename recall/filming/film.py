"""Film trained policies: each when its task was just learned, and at the end of the sequence."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from rich.console import Console
from rich.progress import track

from recall.collect import noise
from recall.collect.messages import EVALUATION
from recall.collect.policy import NumpyPolicy
from recall.collect.rolling import finite
from recall.config.spec import FleetSpec, RunSpec
from recall.config.stored import spec_from
from recall.errors import BadValueError
from recall.files.fleet_layout import FILMS, FINAL, learned, policy_path
from recall.files.names import file_name
from recall.files.paths import check_inside, given_path
from recall.files.streams import is_terminal
from recall.filming.pictures import SHEET, Frame, Tile, animate, in_rows, writable, write
from recall.policies.policy import TRAINED, chosen_run, is_trained, missing, read_stored
from recall.runs.description import check_unedited, read_description
from recall.runs.evaluations import Mode
from recall.settings.checked import Count, Range, from_plain
from recall.training.evaluation import streams
from recall.worlds.registry import Task, horizon_steps, make_simulator
from recall.worlds.simulator import DrawingError, Simulator
from recall.worlds.task_names import TaskName, as_tasks, chosen_positions, numbered

At = Literal["learned", "final", "both"]
SIZE = (320, 240)
_FRAMES = 100  # per episode, by default
_Side = Annotated[int, Range(least=32, most=4096)]
_SUBTITLES = {"learned": "just learned", "final": "at the end"}
_KINDS = {"learned": "policies of tasks just learned", "final": "final policies"}


@dataclass
class Take:
    """One policy on its task, and the results of its episodes."""

    task: str
    at: str
    position: int
    policy: NumpyPolicy
    successes: list[bool] = field(default_factory=list)


@dataclass(frozen=True)
class Film:
    """A finished film; its path differs from the requested one if ffmpeg is not installed."""

    path: Path
    run: str
    takes: tuple[Take, ...]
    left_out: dict[str, str] = field(default_factory=dict)
    """The tasks that cannot be drawn, and why."""
    lacking: str = ""
    """Why only one of two times is shown, if so."""


def film(
    folder: str | Path,
    tasks: Sequence[TaskName] | TaskName | None = None,
    out: str | Path | None = None,
    run: str | None = None,
    seed: int | None = None,
    at: At = "both",
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
    learned it (before later tasks could make it forget) and by the policy at the end. The episodes
    are those of a finished fleet's last evaluation. For an unfinished fleet, the tasks that it has
    finished are shown. Tasks that cannot be drawn are left out; `left_out` of the film says why.

    Args:
        folder: Folder of a fleet, or of an archived fleet, or a robot task such as "hammer", whose
            policy comes with the package.
        tasks: As for `recall.evaluate`.
        out: File that ends in .mp4, which becomes a .gif if ffmpeg is not installed, .gif, or .png,
            a contact sheet of how the episodes end. None: one in the fleet's folder, whose name
            says what is shown, or here for a policy of the package.
        run: Name of the run. None: the first.
        seed: Selects a run by its seed.
        at: "learned" and "final" show one of the two times.
        episodes: Number of episodes per task, one after the other.
        deterministic: Whether to take the mean action, without noise.
        size: Width and height of each picture in pixels.
        fps: Frames per second.
        every: Steps between two frames. None: as many as give a hundred frames per episode.
        functions: If the fleet was started with functions as tasks: from their names to them.
        sheet: Whether to write a contact sheet if `out` is None.
    """
    episodes, fps = from_plain(Count, episodes, "episodes"), from_plain(Count, fps, "fps")
    every = from_plain(Count | None, every, "every")
    size = from_plain(tuple[_Side, _Side], size, "size")
    at = from_plain(At, at, "time")
    folder, suffix = given_path(folder, "folder"), SHEET if sheet else ".mp4"
    if tasks is None and is_trained(folder):
        out = out or f"{folder}{suffix}"
        folder, tasks, at = TRAINED, str(folder), "final"
    named = as_tasks(tasks)
    description = read_description(folder)
    check_unedited(folder, description)
    spec = spec_from(description, functions)
    name = chosen_run(folder, run, seed, named or ()).name
    chosen = next(each for each in spec.runs if each.name == name)
    takes = _takes(folder, chosen, named, at)
    if out is None:
        check_inside(folder / FILMS, folder)
        out = folder / FILMS / f"{_name(chosen, named, at, deterministic)}{suffix}"
    asked = given_path(out, "out", "file")
    path = writable(asked)
    if path != asked and path.exists():
        raise BadValueError(f"{asked} needs ffmpeg, which is not installed, and {path} exists")
    longest = max(horizon_steps(task, spec.settings.world) for task in chosen.tasks)
    if path.suffix.lower() == SHEET:
        every = longest  # only the end of each episode is shown
    every, hold = every or -(-longest // _FRAMES), max(1, fps // 2)
    with ExitStack() as open_simulators:
        simulators, left_out = _simulators(spec, chosen, takes, size, open_simulators)
        shown = [take for take in takes if take.task not in left_out]
        pictures = (
            picture
            for episode in range(episodes)
            for picture in animate(
                _rows(spec, chosen, shown, simulators, episode, deterministic, size, every),
                size,
                hold,
            )
        )
        most = episodes * (1 + -(-longest // every) + hold)
        console = Console(stderr=True)
        hidden = not is_terminal(console)
        watched = track(pictures, "Filming", most, console=console, transient=True, disable=hidden)
        write(watched, path, fps)
    times = {take.at for take in takes} if at == "both" else _KINDS
    lacking = [kind for time, kind in _KINDS.items() if time not in times]
    why = missing(folder, f"{lacking[0]} of {chosen.name}") if lacking else ""
    return Film(path, chosen.name, tuple(shown), left_out, why)


def _takes(folder: Path, run: RunSpec, tasks: Sequence[TaskName] | None, at: At) -> list[Take]:
    """Return every chosen task at every chosen time for which there is a policy."""
    titles = numbered(run.task_names)
    takes = []
    for position in chosen_positions(tasks, run.task_names):
        for time in _KINDS if at == "both" else (at,):
            label = learned(position) if time == "learned" else FINAL
            path = policy_path(folder, run.name, label)
            if path.exists():
                info, vectors = read_stored(folder, run.name, label, (position,), run.task_names)
                policy = NumpyPolicy(info.shape, vectors[position])
                takes.append(Take(titles[position], time, position, policy))
    if takes:
        return takes
    lacking = "policies of these tasks" if at == "both" else _KINDS[at]
    raise BadValueError(missing(folder, f"{lacking} of {run.name}"))


def _name(run: RunSpec, tasks: Sequence[TaskName] | None, at: At, deterministic: bool) -> str:
    """Return a file name for what a film shows, so that another film does not overwrite it."""
    titles = [numbered(run.task_names)[each] for each in chosen_positions(tasks, run.task_names)]
    time, mode = "" if at == "both" else f"-{at}", "-deterministic" * deterministic
    return file_name(f"{run.name}-{'all' if tasks is None else '+'.join(titles)}{time}{mode}")


def _simulators(
    spec: FleetSpec,
    run: RunSpec,
    takes: Sequence[Take],
    size: tuple[int, int],
    open_simulators: ExitStack,
) -> tuple[list[Simulator], dict[str, str]]:
    """Return a simulator for each take that can be drawn, and why others are left out, by task.

    Every simulator draws its first picture here, so that nothing is filmed in vain.
    """
    simulators: list[Simulator] = []
    left_out: dict[str, str] = {}
    for take in takes:
        if take.task in left_out:
            continue
        simulator = make_simulator(run.tasks[take.position], 1, spec.settings.world)
        open_simulators.enter_context(closing(simulator))
        (observed,) = simulator.observation_space.shape
        if observed != (taken := take.policy.shape.observation_size):
            raise BadValueError(
                f"the policy of {run.name} on {take.task} takes {taken} numbers and the task gives "
                f"{observed}: film it with the version that trained it"
            )
        simulator.reset(0, np.random.default_rng(0))
        try:
            simulator.render(0, *size)
            simulators.append(simulator)
        except DrawingError as error:
            left_out[take.task] = str(error)
    if not simulators:
        raise DrawingError("; ".join(dict.fromkeys(left_out.values())))
    return simulators, left_out


def _rows(
    spec: FleetSpec,
    run: RunSpec,
    takes: Sequence[Take],
    simulators: Sequence[Simulator],
    episode: int,
    deterministic: bool,
    size: tuple[int, int],
    every: int,
) -> list[list[Tile]]:
    """Return one episode of every take, in rows."""
    mode: Mode = "deterministic" if deterministic else "stochastic"
    tiles: dict[int, list[Tile]] = {}
    for take, simulator in zip(takes, simulators, strict=True):
        position = take.position
        last = streams(run.own_seed, EVALUATION, position, spec.total_steps, mode, 1 + episode)[-1]
        horizon = horizon_steps(run.tasks[position], spec.settings.world)
        frames = filmed_episode(simulator, horizon, take.policy, last, deterministic, size, every)
        tile = Tile(take.task, _SUBTITLES[take.at], _counted(frames, take))
        tiles.setdefault(position, []).append(tile)
    return in_rows(list(tiles.values()))


def _counted(frames: Iterator[Frame], take: Take) -> Iterator[Frame]:
    """Yield the frames of an episode, and count its success from the last one."""
    success = False
    for frame in frames:
        success = frame.success
        yield frame
    take.successes.append(success)


def filmed_episode(
    simulator: Simulator,
    horizon_steps: int,
    policy: NumpyPolicy,
    stream: tuple[int, ...],
    deterministic: bool,
    size: tuple[int, int],
    every: int = 1,
) -> Iterator[Frame]:
    """Play the episode of `stream` as recall.collect.worker does, a frame every `every` steps.

    The first frame shows the start and the last one the end, before anything is reset.
    """
    first = [*noise.start_of_episode(stream), 0]  # the first episode of that stream
    observation = simulator.reset(0, np.random.default_rng(first))
    drawn = noise.draw_episode(stream, (horizon_steps, simulator.action_space.shape[0]))
    success = False
    yield Frame(simulator.render(0, *size), 0, success)
    for step in range(1, horizon_steps + 1):
        action = policy.act(observation, None if deterministic else drawn[step - 1])
        result = simulator.step(finite(action.astype(np.float32))[np.newaxis])
        observation = result.observation[0]
        success |= bool(result.success[0])
        over = bool(result.terminated[0] | result.truncated[0] | result.diverged[0])
        if over or step == horizon_steps or step % every == 0:
            yield Frame(simulator.render(0, *size), step, success)
        if over:
            return
