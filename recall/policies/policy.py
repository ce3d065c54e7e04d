"""A trained policy outside of training: `recall.load_policy` and acting, with NumPy alone."""

from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from recall.collect.policy import NumpyPolicy
from recall.errors import BadValueError, UnknownNameError
from recall.files.fleet_layout import (
    FINAL,
    POLICY_SUFFIX,
    check_written,
    learned,
    policy_path,
    policy_paths,
)
from recall.files.paths import given_path
from recall.policies.file_format import PolicyInfo, read_policy_file
from recall.policies.stored import chosen_run, missing
from recall.worlds.task_names import TaskName, numbered, positions_of

Array = np.ndarray
At = Literal["final", "learned"]


class Policy:
    """The policy of one run on one task, read from a file.

    `task`, `position`, `method`, `run` and `seed` say what it is. `observation_size` and
    `action_size` are its sizes, `world` holds the arguments with which `recall.make(policy.task,
    **policy.world)` makes its environment, and `layers` its parameters by name.
    """

    def __init__(self, info: PolicyInfo, position: int, vector: Array):
        self.info = info
        self.position = position
        self.task = info.tasks[position]
        self._shown = numbered(info.tasks)[position]
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
            f"<policy of {self.run} on {self._shown}: {self.observation_size} observations, "
            f"{self.action_size} actions>"
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
            one time; others than its own are refused.
        task: A task's name, such as "push" or, of a task that the sequence repeats, "3 push", or
            its position in the sequence, from 0 on. It may be left out if there is only one.
        run: Name of a run. None: the first that has the task.
        at: "final", the end of the sequence (also None), or "learned", the end of the task's own
            training.
    """
    folder = given_path(folder, "folder")
    if at is not None and at not in get_args(At):
        raise UnknownNameError("time", at, get_args(At))
    if folder.suffix == POLICY_SUFFIX:
        return _from_file(folder, task, run, at)
    run = chosen_run(folder, run, tasks=() if task is None else (task,))
    if at == "learned":
        return _learned(folder, run, task)
    path = policy_path(folder, run, FINAL)
    if not path.exists():  # chosen_run has found others
        raise BadValueError(
            f"{missing(folder, f'final policies of {run}')}. at='learned' reads those of tasks "
            "just learned"
        )
    check_written(folder, [path])
    return _from_file(path, task, run)


def _learned(folder: Path, run: str, task: TaskName | None) -> Policy:
    paths = policy_paths(folder, run, learned("*"))
    if not paths:
        raise BadValueError(missing(folder, f"policies of tasks just learned of {run}"))
    position = _position(read_policy_file(paths[0], ())[0], task)
    path = policy_path(folder, run, learned(position))
    if not path.exists():
        raise BadValueError(missing(folder, f"policies of task {task!r} of {run}, just learned,"))
    check_written(folder, [path])
    return _from_file(path, position, run)


def _from_file(
    path: Path, task: TaskName | None, run: str | None = None, at: At | None = None
) -> Policy:
    if not path.exists():
        raise BadValueError(f"there is no file {path}: give a policy file or a fleet's folder")
    info, vectors = read_policy_file(path)
    if run not in (None, info.run):
        raise BadValueError(f"{path} holds policies of run {info.run}, not of {run!r}")
    # Only the name of a file tells its time.
    time = {FINAL: "final"} | {learned(each): "learned" for each in vectors}
    if at not in (None, time.get(path.stem)):
        raise BadValueError(
            f"{path} holds policies of one time, which by its name is not {at!r}: leave the time "
            "out, or give the fleet's folder"
        )
    only = len(vectors) == 1 and task is None
    position = next(iter(vectors)) if only else _position(info, task)
    if position not in vectors:
        held = ", ".join(numbered(info.tasks)[each] for each in vectors)
        raise BadValueError(f"{path} has no policy of task {task!r}, only of {held}")
    return Policy(info, position, vectors[position])


def _position(info: PolicyInfo, task: TaskName | None) -> int:
    """Return the position of the task that is meant."""
    shown = numbered(info.tasks)
    found = range(len(shown)) if task is None else positions_of(task, info.tasks)
    if not found:
        raise UnknownNameError(f"task of run {info.run}", task, shown)
    if len(found) > 1:
        names = ", ".join(shown[position] for position in found)
        raise BadValueError(f"task: choose one of {names}, or a position from 0 on")
    return found[0]
