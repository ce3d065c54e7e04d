"""A trained policy outside of training: `recall.load_policy` and acting, with NumPy alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from recall.collect.policy import NumpyPolicy
from recall.errors import BadValueError, UnknownNameError
from recall.files.fleet_layout import FINAL, POLICY_SUFFIX, learned, policy_path
from recall.files.paths import given_path
from recall.policies.file_format import PolicyInfo, read_policy_file
from recall.policies.stored import TRAINED, chosen_run, is_trained, missing, read_stored
from recall.settings.checked import from_plain
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
