"""A trained policy outside of training: `recall.load_policy` and acting, with NumPy alone."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from recall.collect.policy import NumpyPolicy
from recall.errors import BadValueError, UnknownNameError
from recall.files.fleet_layout import (
    FINAL,
    POLICY_SUFFIX,
    check_written,
    is_archive,
    learnt,
    policy_path,
    policy_paths,
)
from recall.files.paths import given_path
from recall.nets.constants import LOG_STD_RANGE, NORM_EPSILON
from recall.policies.chosen_run import chosen_run, is_finished, missing
from recall.policies.file_format import PolicyInfo, read_policy_file
from recall.worlds.task_names import TaskName, numbered, positions_of

Array = np.ndarray
At = Literal["final", "learnt"]


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
        self._one_row = NumpyPolicy(info.shape, vector)
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
        if rows.ndim == 1:
            return self._one_row.act(rows, noise).astype(np.float32)
        mean, log_std = self._outputs(rows)
        if noise is not None:
            mean = mean + np.exp(log_std) * noise
        return np.tanh(mean).astype(np.float32)

    def distribution(self, observation: Any) -> tuple[Array, Array]:
        """Return mean and log standard deviation of the Gaussian before the tanh."""
        rows = self._checked(observation)
        return self._one_row.outputs(rows) if rows.ndim == 1 else self._outputs(rows)

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

    def _outputs(self, rows: Array) -> tuple[Array, Array]:
        layers = self.layers
        x = rows.astype(np.float32) @ layers["kernel_0"] + layers["bias_0"]
        x -= x.mean(axis=1, keepdims=True)
        x /= np.sqrt(np.square(x).mean(axis=1, keepdims=True) + np.float32(NORM_EPSILON))
        x = np.tanh(x * layers["norm_scale"] + layers["norm_bias"])
        slope = np.float32(self.info.shape.negative_slope)
        for layer in range(1, len(self.info.shape.hidden)):
            x = x @ layers[f"kernel_{layer}"] + layers[f"bias_{layer}"]
            x = np.maximum(x, slope * x)
        out = x @ layers["out_kernel"] + layers["out_bias"]
        mean, log_std = out[:, : self.action_size], out[:, self.action_size :]
        return mean, np.clip(log_std, *LOG_STD_RANGE)


def load_policy(
    folder: str | Path,
    task: TaskName | None = None,
    run: str | None = None,
    at: At | None = None,
) -> Policy:
    """Read one trained policy of a fleet; neither JAX nor the environments are imported.

    `folder` is a fleet's folder, or one of its policy files. `task` is a task's name, such as
    "push" or, of a task that the sequence repeats, "3 push", or its position in the sequence, from
    0 on; it may be left out if there is only one. `run` is the name of a run (None: the first that
    has the task). `at` is "final", the end of the sequence (also None), or "learnt", the end of the
    task's own training. A file holds the policies of one run at one time, so neither is needed for
    it; others than its own are refused.
    """
    folder = given_path(folder, "folder")
    if at is not None and at not in get_args(At):
        raise UnknownNameError("time", at, get_args(At))
    if folder.suffix == POLICY_SUFFIX:
        return _from_file(folder, task, run, at)
    run = chosen_run(folder, task, run)
    if at != "learnt":
        path = policy_path(folder, run, FINAL)
        if not path.exists():
            raise BadValueError(
                f"{_without_final(folder)}. at='learnt' reads those of finished tasks"
            )
        check_written(folder, [path])
        return _from_file(path, task, run)
    found = policy_paths(folder, run, learnt("*"))
    if not found:
        if is_archive(folder):
            raise BadValueError(f"{folder} was archived without policies of tasks just learnt")
        if is_finished(folder):
            raise BadValueError(missing(folder, "policies of tasks just learnt"))
        raise BadValueError(f"{folder} has no policies yet: no task is finished")
    position = _position(read_policy_file(found[0], ())[0], task)
    path = policy_path(folder, run, learnt(position))
    if not path.exists():
        if is_finished(folder) and not is_archive(folder):
            raise BadValueError(missing(folder, f"policies of task {task!r}"))
        raise BadValueError(f"{folder} has no policy of task {task!r} yet: it is not finished")
    check_written(folder, [path])
    return _from_file(path, position, run)


def _without_final(folder: Path) -> str:
    if is_archive(folder):
        return f"{folder} has no final policies: they were not archived"
    if is_finished(folder):
        return missing(folder, "final policies")
    return f"{folder} has no final policies: it is not finished"


def _from_file(
    path: Path, task: TaskName | None, run: str | None = None, at: At | None = None
) -> Policy:
    if not path.exists():
        raise BadValueError(f"there is no file {path}: give a policy file or a fleet's folder")
    info, vectors = read_policy_file(path)
    if run not in (None, info.run):
        raise BadValueError(
            f"{path} holds policies of run {info.run} alone, not of {run!r}: leave the run out, or "
            "give the fleet's folder"
        )
    if at not in (None, _time(path, vectors)):
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


def _time(path: Path, positions: Iterable[int]) -> At | None:
    """Return the time of a file's policies, which only its name tells; None if it was renamed."""
    if path.stem == FINAL:
        return "final"
    return "learnt" if [path.stem] == [learnt(each) for each in positions] else None


def _position(info: PolicyInfo, task: TaskName | None) -> int:
    """Return the position of the task that is meant."""
    tasks = info.tasks
    if task is None:
        if len(tasks) == 1:
            return 0
        shown = ", ".join(numbered(tasks))
        raise BadValueError(f"task: choose one of {shown}, or a position from 0 on")
    found = positions_of(task, tasks)
    if not found and not isinstance(task, str):
        raise BadValueError(f"task at position {task}: there are {len(tasks)}, from 0 on")
    if not found:
        raise UnknownNameError(f"task of run {info.run}", task, numbered(tasks))
    if len(found) > 1:
        names = ", ".join(repr(numbered(tasks)[position]) for position in found)
        raise BadValueError(f"task {task!r} comes more than once: choose one of {names}")
    return found[0]
