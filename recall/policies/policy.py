"""Trained policies of a fleet's folder: `recall.load_policy` and acting, with NumPy alone."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from recall.collect.policy import NumpyPolicy
from recall.errors import BadValueError, UnknownNameError
from recall.files.fleet_layout import (
    DESCRIPTION,
    FINAL,
    POLICY_SUFFIX,
    Status,
    StoredRun,
    check_written,
    failures_in,
    is_archive,
    learned,
    no_fleet,
    policy_path,
    policy_paths,
    status,
)
from recall.files.paths import given_path
from recall.files.reading import read_json
from recall.files.stamps import DamagedFileError
from recall.policies.file_format import PolicyInfo, read_policy_file
from recall.settings.checked import from_plain
from recall.worlds.task_names import TaskName, numbered, positions_of

Array = np.ndarray
At = Literal["final", "learned"]
TRAINED = Path(__file__).with_name("trained")
"""An archive that comes with the package, of runs which together learned every robot task."""


class _Description(msgspec.Struct):
    """The part of run.json that is read here."""

    runs: Annotated[list[StoredRun], msgspec.Meta(min_length=1)]


def trained_tasks() -> list[str]:
    """Return the names of the tasks that policies of the package have learned."""
    runs = read_json(TRAINED / DESCRIPTION, kind=_Description).runs
    return sorted({task for run in runs for task in run.tasks})


def is_trained(name: Path) -> bool:
    """Return True if `name` is no path, but one of these tasks."""
    return not name.exists() and str(name) in trained_tasks()


def chosen_run(
    folder: Path,
    run: str | None = None,
    seed: int | None = None,
    tasks: Sequence[TaskName] = (),
) -> StoredRun:
    """Return the first run with policies that is `run`, has the seed and all tasks."""
    if not folder.is_dir():
        what = f"{folder} is no policy file" if folder.exists() else f"there is no folder {folder}"
        raise BadValueError(
            f"{what}: give that of a fleet, one of its policy files, or a robot task"
        )
    if not (folder / DESCRIPTION).exists():
        raise BadValueError(missing(folder, "policies"))
    runs = read_json(folder / DESCRIPTION, kind=_Description).runs
    if run is not None and run not in [each.name for each in runs]:
        raise UnknownNameError("run of this fleet", run, [each.name for each in runs])
    matching = [each for each in runs if run in (None, each.name) and seed in (None, each.seed)]
    if not matching:
        seeds = " ".join(map(str, dict.fromkeys(each.seed for each in runs)))
        raise BadValueError(
            f"{run or 'a run'} with seed {seed} does not exist; the fleet's seeds are {seeds}"
        )
    for task in tasks:
        if not any(positions_of(task, each.tasks) for each in matching):
            known = dict.fromkeys(shown for each in matching for shown in numbered(each.tasks))
            where = f"run {matching[0].name}" if len(matching) == 1 else "this fleet"
            raise UnknownNameError(f"task of {where}", task, known)
    having = [each for each in matching if all(positions_of(task, each.tasks) for task in tasks)]
    if not having:
        raise BadValueError(f"no single run has all of the tasks {', '.join(map(str, tasks))}")
    for each in having:
        if policy_paths(folder, each.name):
            return each
    raise BadValueError(missing(folder, f"policies of {having[0].name}"))


def missing(folder: Path, what: str) -> str:
    """Return why a folder lacks `what`, such as "final policies", and what to do about it."""
    if is_archive(folder):
        return (
            f"{folder} was archived without {what}: `recall archive --policies` keeps those of "
            "chosen runs, and --policies-at says which"
        )
    if not (folder / DESCRIPTION).exists():
        return no_fleet(folder)
    found = status(folder)
    if found is Status.FAILED:
        return f"{folder} has no {what}: {failures_in(folder)}"
    if found is not Status.FINISHED:
        return f"{folder} has no {what} yet: it is not finished"
    return f"{folder} is finished, but its {what} are missing: restore them from a copy"


def read_stored(
    folder: Path,
    run: str,
    label: str,
    positions: Iterable[int] | None = None,
    tasks: Sequence[str] | None = None,
) -> tuple[PolicyInfo, dict[int, np.ndarray]]:
    """Read a policy file of a fleet; return its info and the flat policies by position.

    Raises DamagedFileError if it is not what the fleet wrote, or is of another run or other tasks.
    """
    path = policy_path(folder, run, label)
    check_written(folder, [path])
    info, vectors = read_policy_file(path, positions)
    if info.run != run or (tasks is not None and info.tasks != tuple(tasks)):
        raise DamagedFileError(
            f"{path} holds the policy of another run, {info.run} on {', '.join(info.tasks)}: "
            "restore it from a copy"
        )
    return info, vectors


class Policy:
    """The policy of one run on one task, read from a file.

    `task`, `position`, `method`, `run` and `seed` say what it is. `observation_size` and
    `action_size` are its sizes, `world` holds the arguments with which `recall.make(policy.task,
    **policy.world)` makes its environment, and `layers` its parameters by name.
    """

    def __init__(self, info: PolicyInfo, position: int, vector: Array):
        self.info, self.position = info, position
        self.task = info.tasks[position]
        self.method, self.run, self.seed = info.method, info.run, info.seed
        self.observation_size = info.shape.observation_size
        self.action_size = info.shape.action_size
        self.world: dict[str, Any] = {
            "reward": info.reward,
            "observation": info.observation,
            "horizon": info.horizon_steps,
        }
        self.layers = info.shape.layers(vector)
        self._actor = NumpyPolicy(info.shape, vector)
        self._random = np.random.default_rng()

    def __repr__(self) -> str:
        return (
            f"<policy of {self.run} on {numbered(self.info.tasks)[self.position]}: "
            f"{self.observation_size} observations, {self.action_size} actions>"
        )

    def act(
        self,
        observation: Any,
        deterministic: bool = True,
        rng: np.random.Generator | int | None = None,
    ) -> Array:
        """Return an action in (-1, 1), float32, for an observation [obs] or a batch [batch, obs].

        The deterministic action is the tanh of the mean; otherwise noise is drawn from `rng`, a
        generator or a seed (None: a generator of the policy's own). For one observation, the
        action equals that of an evaluation bit for bit.
        """
        rows = self._checked(observation)
        noise = None
        if not deterministic:
            drawn = self._random if rng is None else np.random.default_rng(rng)
            noise = drawn.standard_normal((*rows.shape[:-1], self.action_size))
        return self._actor.act(rows, noise).astype(np.float32)

    def distribution(self, observation: Any) -> tuple[Array, Array]:
        """Return mean and log standard deviation of the Gaussian before the tanh."""
        return self._actor.outputs(self._checked(observation))

    def facts(self) -> dict[str, str]:
        """Return what the policy is, as texts, for the metadata of exported files."""
        facts = {"task": self.task, "method": self.method, "run": self.run, "seed": self.seed}
        known = {name: value for name, value in self.world.items() if value is not None}
        return {name: str(value) for name, value in (facts | known).items()}

    def _checked(self, observation: Any) -> Array:
        rows = np.asarray(observation, np.float64)
        if rows.ndim not in (1, 2) or rows.shape[-1] != self.observation_size:
            raise BadValueError(
                f"observation of shape {rows.shape} for {self.task}; expected "
                f"({self.observation_size},) or (batch, {self.observation_size})"
            )
        return rows


def load_policy(
    folder: str | Path,
    task: TaskName | None = None,
    run: str | None = None,
    at: At | None = None,
) -> Policy:
    """Read one trained policy of a fleet; neither JAX nor the environments are imported.

    Args:
        folder: A fleet's folder, or one of its policy files, which holds the policies of one run at
            one time, or a robot task such as "hammer", whose policy comes with the package.
        task: A task's name, such as "push" or, of a task that the sequence repeats, "3 push", or
            its position in the sequence, from 0 on. It may be left out if there is only one.
        run: Name of a run. None: the first that has the task.
        at: "final", the end of the sequence (also None), or "learned", the end of the task's own
            training.
    """
    folder = given_path(folder, "folder")
    at = from_plain(At | None, at, "time")
    if is_trained(folder):
        if task not in (None, str(folder)):
            raise BadValueError(f"{folder} is a task already: leave out task {task!r}")
        folder, task = TRAINED, str(folder)
    if folder.suffix == POLICY_SUFFIX:
        return _from_file(folder, task, run, at)
    chosen = chosen_run(folder, run, tasks=() if task is None else (task,))
    position = _position(chosen.name, chosen.tasks, task)
    label = learned(position) if at == "learned" else FINAL
    if not policy_path(folder, chosen.name, label).exists():
        hint = "" if at == "learned" else ". at='learned' reads those of tasks just learned"
        raise BadValueError(missing(folder, f"{label} policies of {chosen.name}") + hint)
    info, vectors = read_stored(folder, chosen.name, label, (position,), chosen.tasks)
    return Policy(info, position, vectors[position])


def _from_file(path: Path, task: TaskName | None, run: str | None, at: At | None) -> Policy:
    if run is not None or at is not None:
        raise BadValueError(f"{path} holds one run at one time: leave out the run and the time")
    if not path.exists():
        raise BadValueError(f"there is no file {path}: give a policy file or a fleet's folder")
    info, vectors = read_policy_file(path)
    if len(vectors) == 1 and task is None:
        (position,) = vectors
    else:
        position = _position(info.run, info.tasks, task)
    if position not in vectors:
        held = ", ".join(numbered(info.tasks)[each] for each in vectors)
        raise BadValueError(f"{path} has no policy of task {task!r}, only of {held}")
    return Policy(info, position, vectors[position])


def _position(run: str, tasks: Sequence[str], task: TaskName | None) -> int:
    """Return the position of the task that is meant."""
    shown = numbered(tasks)
    found = range(len(shown)) if task is None else positions_of(task, tasks)
    if not found:
        raise UnknownNameError(f"task of run {run}", task, shown)
    if len(found) > 1:
        names = ", ".join(shown[position] for position in found)
        raise BadValueError(f"task: choose one of {names}, or a position from 0 on")
    return found[0]
