"""The transitions that a fleet has kept, as a Minari dataset of the episodes that ended."""

import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Box

from recall.collect.messages import RunTasks, Setup
from recall.collect.noise import draw_tails
from recall.collect.transition import Columns
from recall.config.spec import FleetSpec
from recall.errors import BadValueError, RecallError, UnknownNameError, required
from recall.files.fleet_layout import Status, read_outcome, status
from recall.learn import fleet
from recall.replay.log import by_environment, read_kept_task
from recall.training.agents import agent_of
from recall.training.behaviour import Behaviour
from recall.worlds.env import make
from recall.worlds.registry import horizon_steps, task_label
from recall.worlds.slots import sizes_of
from recall.worlds.task_names import TaskName, chosen_positions, numbered

Array = np.ndarray


def _episodes(
    folder: Path, spec: FleetSpec, position: int, runs: Sequence[int]
) -> Iterator[tuple[int, bool, dict[str, Any]]]:
    """Yield a task's episodes, run after run: the run, its success, and what Minari stores."""
    schedule, task_schedule, (agent, _) = spec.settings.schedule, spec.task_schedule, agent_of(spec)
    chunk_steps, environments = schedule.chunk_steps, schedule.environments
    rows, successes = read_kept_task(
        folder, position, len(spec.runs), chunk_steps, agent.columns.width
    )
    ended = np.zeros(rows.shape[:-1], bool)
    for chunk, each in enumerate(rows):  # not the whole file at once
        ended[chunk] = np.add(*agent.columns.split(each)[3:5]) > 0
    # The order of the successes: chunk, run, environment, step.
    ended = by_environment(ended[..., None], environments)[..., 0]
    succeeded = np.zeros(ended.shape, bool)
    collected = task_schedule.collected(position, task_schedule.total_steps)
    if ended.sum() != len(successes) or len(rows) != collected // chunk_steps:
        raise BadValueError(
            f"{folder}: what replay keeps of task {position} is not whole: restore it from a copy, "
            "or train again in another folder"
        )
    succeeded[ended] = successes
    # The run's steps before each of the task's, [chunk, environment, step], and who acted then.
    before = [task_schedule.before_chunk(position, number) for number in range(len(rows))]
    within = by_environment(np.arange(chunk_steps)[:, None], environments)[..., 0]
    step, behaviour = np.add.outer(before, within), Behaviour(spec, agent)
    head = [
        behaviour.actor(*divmod(each, task_schedule.steps_per_stage), position) for each in before
    ]
    setup = Setup(
        tuple(RunTasks(run.own_seed, run.tasks) for run in spec.runs),
        spec.settings.world,
        fleet.policy_shape(agent),
        schedule,
    )
    for run, environment in product(runs, range(environments)):
        played = np.concatenate(by_environment(rows[:, run], environments)[:, environment])
        stream = setup.stream(run * environments + environment, position)
        horizon = horizon_steps(spec.runs[run].tasks[position], spec.settings.world)
        tails = draw_tails(stream, 0, len(played), schedule.random_tails, horizon)
        own = step[:, environment].ravel()
        heads = np.repeat(head, len(played) // len(head))
        ends = np.flatnonzero(ended[:, run, environment]) + 1
        flags = succeeded[:, run, environment].ravel()
        for begin, end in zip(np.append(0, ends)[:-1], ends, strict=True):
            part = slice(begin, end)
            facts = {
                "step": own[part],  # of the run, before this one
                "head": heads[part],  # whose policy acted, or -1 for random actions
                "random_motion": tails[part] & (heads[part] >= 0),
                "task": position,
                "episode_success": flags[end - 1],
            }
            yield run, bool(flags[end - 1]), _fields(agent.columns, played[part], facts)


def write_minari(
    folder: Path, spec: FleetSpec, dataset: str, tasks: Sequence[TaskName] | None, run: str | None
) -> Any:
    """Write the episodes of these tasks and this run, or of all, as a Minari dataset."""
    minari = required("minari", "export to Minari", "minari[hdf5]")
    from minari.data_collector import EpisodeBuffer
    from minari.storage import get_dataset_path

    written = get_dataset_path(dataset)
    if written.exists():
        raise BadValueError(f"dataset {dataset!r} already exists in {written}: choose another name")
    if status(folder) is not Status.FINISHED:
        raise BadValueError(f"{folder} is not finished: continue it with `recall resume`")
    if not spec.settings.schedule.keep_replay:
        raise BadValueError(
            f"{folder} was trained without keep_replay, so its transitions are gone: train with "
            "--keep-replay"
        )
    names = [each.name for each in spec.runs]
    runs = _runs_to_export(folder, names, run)
    wanted = {at: chosen_positions(tasks, spec.runs[at].task_names) for at in runs}
    places = sorted({position for positions in wanted.values() for position in positions})
    shown = {at: numbered(spec.runs[at].task_names) for at in runs}
    labels: list[dict[str, Any]] = []

    def buffers() -> Any:  # Minari takes them one by one, though it asks for a list
        for position in places:
            with_task = [at for at in runs if position in wanted[at]]
            for at, success, fields in _episodes(folder, spec, position, with_task):
                name = shown[at][position]
                labels.append({"task": name, "run": names[at], "success": success})
                yield EpisodeBuffer(**fields)

    made = tuple({spec.runs[at].tasks[place]: None for at in runs for place in wanted[at]})
    world = spec.settings.world
    spaces, _ = sizes_of(made, world)
    low, high = spaces.observation.low, spaces.observation.high
    seen = Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)
    env = make(made[0], world.reward, world.observation, world.horizon_steps)
    try:
        with warnings.catch_warnings():
            # It recommends to name authors and code, which whoever publishes a dataset adds to it.
            warnings.simplefilter("ignore", UserWarning)
            stored = minari.create_dataset_from_buffers(
                dataset,
                buffers(),
                # A function of the user's cannot be made again.
                env=env if len(made) == 1 and env.spec is not None else None,
                observation_space=seen,
                action_space=spaces.action,
                algorithm_name=spec.method.label,
                description=f"Replay of {spec.method.label} on {', '.join(map(task_label, made))}.",
            )
    except BaseException as error:  # what was begun must not stand in the way of the next export
        shutil.rmtree(written, ignore_errors=True)
        if isinstance(error, ValueError) and not isinstance(error, RecallError):
            raise BadValueError(f"dataset {dataset!r}: {error}") from error
        raise
    finally:
        env.close()
    stored.storage.update_episode_metadata(labels)
    return stored


def _runs_to_export(folder: Path, names: Sequence[str], chosen: str | None) -> list[int]:
    """Return the chosen run, or all, by index; those that failed are left out."""
    if chosen is not None and chosen not in names:
        raise UnknownNameError("run of this fleet", chosen, names)
    failed = outcome.failed if (outcome := read_outcome(folder)) else {}
    runs = [at for at, name in enumerate(names) if name not in failed and chosen in (None, name)]
    if not runs:
        raise BadValueError(f"{folder}: run {chosen} failed, so its transitions are not exported")
    return runs


def _fields(columns: Columns, rows: Array, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return an episode of rows [step, columns] as Minari has it, with these facts of its steps."""
    observation, action, reward, terminated, truncated, following = columns.split(rows)
    per_step = {name: np.broadcast_to(values, len(rows)) for name, values in facts.items()}
    return {
        "observations": np.concatenate([observation, following[-1:]]),
        "actions": action,
        "rewards": reward.astype(float),
        "terminations": terminated > 0,
        "truncations": truncated > 0,
        "infos": {name: np.concatenate([values[:1], values]) for name, values in per_step.items()},
    }
