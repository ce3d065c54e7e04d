"""The transitions that a fleet has kept, as a Minari dataset of episodes.

What replay does not hold follows from the fleet's settings: which head acted in a step, and in
which steps noise alone moved the robot. An episode that had not ended when its environment was left
is not part of the dataset.
"""

import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
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


class KeptReplay:
    """The episodes of a finished fleet that kept its replay."""

    def __init__(self, folder: Path, spec: FleetSpec):
        """Raise BadValueError for a fleet that is not finished, or has kept nothing."""
        if status(folder) is not Status.FINISHED:
            raise BadValueError(f"{folder} is not finished: continue it with `recall resume`")
        if not spec.settings.schedule.keep_replay:
            raise BadValueError(
                f"{folder} was trained without keep_replay, so its transitions are gone: train "
                "with --keep-replay"
            )
        self._folder, self._spec = folder, spec
        agent, _ = agent_of(spec)
        self.columns: Columns = agent.columns
        self._behaviour = Behaviour(spec, agent)
        schedule = spec.settings.schedule
        self._setup = Setup(
            tuple(RunTasks(run.own_seed, run.tasks) for run in spec.runs),
            spec.settings.world,
            fleet.policy_shape(agent),
            schedule.environments,
        )

    def episodes(
        self, position: int, runs: Sequence[int]
    ) -> Iterator[tuple[int, bool, dict[str, Any]]]:
        """Yield the episodes of a task, run after run, in the order in which they began.

        Each has its run, whether it was a success, and what Minari stores.
        """
        spec, schedule = self._spec, self._spec.settings.schedule
        rows, successes = read_kept_task(
            self._folder, position, len(spec.runs), schedule.chunk_steps, self.columns.width
        )
        ended = np.zeros(rows.shape[:-1], bool)
        for chunk, each in enumerate(rows):  # not the whole file at once
            ended[chunk] = np.add(*self.columns.split(each)[3:5]) > 0
        # The order of the successes: chunk, run, environment, step.
        ended = by_environment(ended[..., None], schedule.environments)[..., 0]
        succeeded = np.zeros(ended.shape, bool)
        if ended.sum() != len(successes) or len(rows) != self._chunks(position):
            raise BadValueError(
                f"{self._folder}: what replay keeps of task {position} is not whole: restore it "
                "from a copy, or train again in another folder"
            )
        succeeded[ended] = successes
        step, head = self._steps_and_heads(position, len(rows))
        for run in runs:
            mine = by_environment(rows[:, run], schedule.environments)
            tasks = spec.runs[run].tasks
            horizon = horizon_steps(tasks[position], spec.settings.world)
            for environment in range(schedule.environments):
                played = np.concatenate(mine[:, environment])
                stream = self._setup.stream(run * schedule.environments + environment, position)
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
                    yield run, bool(flags[end - 1]), _fields(self.columns, played[part], facts)

    def _chunks(self, position: int) -> int:
        task_schedule = self._spec.task_schedule
        collected = task_schedule.collected(position, task_schedule.total_steps)
        return collected // task_schedule.chunk_steps

    def _steps_and_heads(self, position: int, chunks: int) -> tuple[Array, Array]:
        """Return the run's steps before each of a task's, and who acted in each of its chunks.

        The steps are [chunk, environment, step]; environments collect side by side.
        """
        task_schedule, environments = self._spec.task_schedule, self._setup.environments
        before = [task_schedule.before_chunk(position, number) for number in range(chunks)]
        heads = [
            self._behaviour.actor(*divmod(total, task_schedule.steps_per_stage), position)
            for total in before
        ]
        within = by_environment(np.arange(task_schedule.chunk_steps)[:, None], environments)
        return np.add.outer(before, within[..., 0]), np.array(heads)


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
    kept = KeptReplay(folder, spec)
    names = [each.name for each in spec.runs]
    runs = _runs_to_export(folder, names, run)
    wanted = {at: chosen_positions(tasks, spec.runs[at].task_names) for at in runs}
    places = sorted({position for positions in wanted.values() for position in positions})
    shown = {at: numbered(spec.runs[at].task_names) for at in runs}
    labels: list[dict[str, Any]] = []

    def buffers() -> Any:  # Minari takes them one by one, though it asks for a list
        for position in places:
            with_task = [at for at in runs if position in wanted[at]]
            for at, success, fields in kept.episodes(position, with_task):
                name = shown[at][position]
                labels.append({"task": name, "run": names[at], "success": success})
                yield EpisodeBuffer(**fields)

    made = tuple({spec.runs[at].tasks[place]: None for at in runs for place in wanted[at]})
    world = spec.settings.world
    spaces, _ = sizes_of(made, world)
    low, high = spaces.observation.low, spaces.observation.high
    seen = Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)
    # Minari can make the environment again if it is one, and not a function of the user's.
    env = make(made[0], world.reward, world.observation, world.horizon_steps)
    try:
        with warnings.catch_warnings():
            # It recommends to name authors and code, which whoever publishes a dataset adds to it.
            warnings.simplefilter("ignore", UserWarning)
            stored = minari.create_dataset_from_buffers(
                dataset,
                buffers(),
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
    outcome = read_outcome(folder)
    failed = {} if outcome is None else outcome.failed
    runs = [at for at, name in enumerate(names) if name not in failed and chosen in (None, name)]
    if not runs:
        raise BadValueError(f"{folder}: run {chosen} failed, so its transitions are not exported")
    return runs


def _fields(columns: Columns, rows: Array, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return an episode of rows [step, columns] as Minari has it, with these facts of its steps.

    It has one observation and one info more than steps.
    """
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
