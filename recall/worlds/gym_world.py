"""Tasks from Gymnasium environments with one-dimensional Box observations and actions."""

import contextlib
import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Space

from recall.errors import BadValueError, RecallError, described
from recall.worlds.gym_registration import known_spec
from recall.worlds.registry import Task, task_label
from recall.worlds.simulator import (
    Array,
    DrawingError,
    Simulator,
    Step,
    TaskFailedError,
    copied,
    unit_box,
)

_RENDER_MODE = "rgb_array"
_HEADER = 2  # a state is the episode's seed, its number of steps, then its actions
_SEEDS = 2**31  # Gymnasium environments take seeds below this; float64 holds them exactly
_WHOLE = "biu"  # NumPy's kinds of truth values and whole numbers
_REAL = _WHOLE + "f"
_END = ("True or False", (0.0, 1.0).__contains__)
_USUAL = (float, bool, np.floating, np.bool_)


class GymnasiumSimulator(Simulator):
    """Simulator with one Gymnasium environment per slot.

    Actions are rescaled from [-1, 1] to the environment's own box; integers have equal shares. A
    state is the episode's seed and the actions so far, and restoring it replays them, which is
    exact if the environment is deterministic. Success is `info["success"]` or `["is_success"]`.
    """

    def __init__(self, task: Task, slots: int, horizon_steps: int | None = None):
        self._source = task
        self._horizon_steps = horizon_steps or time_limit(task)
        self.task, self.slots = task_label(task), slots
        self._envs = [self._make() for _ in range(slots)]
        _refuse_shared(self._envs, self.task)
        observation, action = self._envs[0].observation_space, self._envs[0].action_space
        self.observation_space = _flat_box(observation, self.task, "observation")
        own = _flat_box(action, self.task, "action")
        if not own.is_bounded():
            raise BadValueError(
                f"actions of {self.task} range from {own.low} to {own.high}: their bounds must be "
                "finite, because actions in [-1, 1] are scaled to them"
            )
        self.action_space = unit_box(own.shape[0])
        low, high = own.low.astype(np.float64), own.high.astype(np.float64)
        self._is_whole = own.dtype is not None and own.dtype.kind in _WHOLE
        # Integers are rounded down, so the share of the highest ends where the next would begin.
        end = high + 1 if self._is_whole else high
        self._centre, self._reach = (end + low) / 2, (end - low) / 2
        self._highest, self._action_dtype = high, own.dtype
        self._seed = np.zeros(slots, np.int64)
        self._steps = np.zeros(slots, np.int64)
        self._actions = np.zeros((slots, self._horizon_steps, own.shape[0]))
        self._options: list[Mapping[str, Any] | None] = [None] * slots
        self.state_size = _HEADER + self._actions[0].size

    def reset(
        self, slot: int, rng: np.random.Generator, options: Mapping[str, Any] | None = None
    ) -> Array:
        """Start an episode with a seed drawn from `rng`."""
        self._options[slot] = options
        return self._begin(slot, int(rng.integers(_SEEDS)))

    def step(self, actions: Array) -> Step:
        """Step one environment after the other."""
        taken = np.clip(actions, -1.0, 1.0)
        results = [self._act(slot, taken[slot]) for slot in range(self.slots)]
        observations, rewards, terminated, truncated, infos = zip(*results, strict=True)
        observation = np.asarray(observations, np.float64)
        reward = np.asarray(rewards, np.float64)
        return Step(
            observation=observation,
            reward=reward,
            terminated=np.asarray(terminated, bool),
            truncated=np.asarray(truncated, bool),
            success=np.asarray([_success(info, self.task) for info in infos], bool),
            diverged=~(np.isfinite(observation).all(axis=1) & np.isfinite(reward)),
        )

    def get_state(self, slot: int) -> Array:
        """Return the episode's seed, its number of steps, and the actions, padded with zeros."""
        if self._options[slot]:
            raise BadValueError(
                f"slot {slot} of {self.task} was reset with options {self._options[slot]!r}; "
                "such an episode cannot be saved"
            )
        header = (self._seed[slot], self._steps[slot])
        return np.concatenate([np.asarray(header, np.float64), self._actions[slot].ravel()])

    def set_state(self, slot: int, state: Array) -> None:
        """Replay the episode up to the saved step."""
        seed, steps = int(state[0]), int(state[1])
        actions = np.array(state[_HEADER:]).reshape(self._actions[slot].shape)
        self._options[slot] = None
        self._begin(slot, seed)
        for action in actions[:steps]:
            self._act(slot, action)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle the slots' states, since an environment's own copy may not be exact."""
        return copied(self, type(self), task=self._source, horizon_steps=self._horizon_steps)

    def render(self, slot: int, width: int = 480, height: int = 480) -> Array:
        """Return the environment's own image, in its own size, or raise DrawingError."""
        if self._envs[slot].render_mode != _RENDER_MODE:
            if not isinstance(self._source, str):
                raise DrawingError(
                    f"{self.task} made an environment with render_mode "
                    f"{self._envs[slot].render_mode!r}: give a function that makes it with "
                    f"'rgb_array' (recall.film takes it in functions={{{self.task!r}: ...}})"
                )
            state = self.get_state(slot)
            drawn = self._drawn(lambda: self._make(_RENDER_MODE))
            self._envs[slot].close()
            self._envs[slot] = drawn
            self.set_state(slot, state)
        picture = self._drawn(self._envs[slot].render)
        if not isinstance(picture, np.ndarray) or picture.shape[2:] not in ((3,), (4,)):
            given = getattr(picture, "shape", picture)
            raise DrawingError(
                f"{self.task} cannot be drawn: render() returned {given!r:.80}, not an image"
            )
        return np.asarray(picture[..., :3], np.uint8)

    def _drawn(self, draw: Callable[[], Any]) -> Any:
        """Draw; turn whatever the environment raises into an error that names the task."""
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", category=UserWarning, module="gymnasium")
                return draw()
        except Exception as error:
            raise DrawingError(
                f"{self.task} cannot be drawn: {' '.join(described(error).split())}. Its "
                f'constructor must take render_mode="{_RENDER_MODE}", and render() must return an '
                "image"
            ) from error

    def close(self) -> None:
        """Close every environment."""
        for env in self._envs:
            _call(self.task, "close()", env.close)

    def _make(self, render_mode: str | None = None) -> Any:
        if not isinstance(self._source, str):
            return _made(self._source)
        name = known_spec(self._source).id
        steps = self._horizon_steps
        if render_mode is not None:
            return gymnasium.make(name, max_episode_steps=steps, render_mode=render_mode)
        return _call(self.task, "its constructor", gymnasium.make, name, max_episode_steps=steps)

    def _begin(self, slot: int, seed: int) -> Array:
        options = dict(self._options[slot] or {}) or None
        answer = _call(self.task, "reset()", self._envs[slot].reset, seed=seed, options=options)
        observation, _ = _values(answer, f"reset of {self.task}", 2)
        self._seed[slot], self._steps[slot] = seed, 0
        self._actions[slot] = 0.0
        return self._observed(observation, f"reset of {self.task}")

    def _act(self, slot: int, action: Array) -> tuple[Any, ...]:
        """Step an environment and return what it answers, each value in its own type."""
        self._actions[slot, self._steps[slot]] = action
        self._steps[slot] += 1
        what = f"step of {self.task}"
        answer = _call(self.task, "step()", self._envs[slot].step, self._own_action(action))
        observation, reward, *ends, info = _values(answer, what, 5)
        return (
            self._observed(observation, what),
            _number(reward, what, "its reward", "one number"),
            # The reward in their place is refused.
            *(bool(_number(each, what, "terminated or truncated", *_END)) for each in ends),
            info,
        )

    def _observed(self, value: Any, what: str) -> Array:
        shape = self.observation_space.shape
        try:
            numbers = np.asarray(value)
        except ValueError:  # lists of different lengths
            numbers = np.asarray(None)
        if numbers.shape != shape or numbers.dtype.kind not in _REAL:
            raise BadValueError(
                f"{what} returned an observation of shape {numbers.shape}, {value!r:.80}: its "
                f"observation_space asks for real numbers of shape {shape}"
            )
        return np.asarray(numbers, np.float64)

    def _own_action(self, action: Array) -> Array:
        """Return an action in [-1, 1] as one in the environment's own box."""
        scaled = self._centre + self._reach * action
        if self._is_whole:
            scaled = np.minimum(np.floor(scaled), self._highest)
        return scaled.astype(self._action_dtype)


# What a user's environment returns; Gymnasium's own checkers warn of most of it and let it pass.


def _call(task: str, where: str, function: Callable[..., Any], *values: Any, **named: Any) -> Any:
    """Call code of the user's; raise TaskFailedError, which names the task, if it fails."""
    try:
        return function(*values, **named)
    except RecallError:
        raise
    except (Exception, SystemExit) as error:
        raise TaskFailedError(f"task {task}: {where} raised {described(error)}") from error


def _made(function: Callable[[], Any]) -> Any:
    """Return the environment that a user's function makes; refuse anything else that it returns."""
    name = task_label(function)
    env = _call(name, "its constructor", function)
    if not isinstance(env, gymnasium.Env):
        raise BadValueError(
            f"{name} returned {env!r}: a task's function must return a Gymnasium environment"
        )
    return env


def _refuse_shared(envs: list[Any], task: str) -> None:
    """Raise an error if two of these environments are one object, perhaps in different wrappers."""
    if len({id(env.unwrapped) for env in envs}) < len(envs):
        raise BadValueError(
            f"{task} gave the same environment twice: it must make a new one each time, since "
            "every run and worker process needs its own"
        )


def _values(answer: Any, what: str, count: int) -> Any:
    given = len(answer) if isinstance(answer, tuple) else 1
    if given != count:
        raise BadValueError(
            f"{what} returned {given} value{'s' if given > 1 else ''}, Gymnasium's returns "
            f"{count}. The old Gym API needs a wrapper, such as those of the package shimmy"
        )
    if not isinstance(answer[-1], Mapping):
        raise BadValueError(f"{what} returned {answer[-1]!r} as its info: it must be a dict")
    return answer


def _number(
    value: Any, what: str, name: str, wanted: str, allowed: Callable[[float], bool] | None = None
) -> float:
    """Return a number, or the one number of an array; refuse anything else that was returned."""
    if isinstance(value, _USUAL):  # nearly always, and this is called at every step
        found: float | None = float(value)
    else:
        is_array = isinstance(value, int) or hasattr(value, "__array__")
        numbers = np.asarray(value if is_array else None)
        found = float(numbers.item()) if numbers.size == 1 and numbers.dtype.kind in _REAL else None
    if found is None or (allowed is not None and not allowed(found)):
        raise BadValueError(f"{what} returned {value!r} as {name}: it must be {wanted}")
    return found


def _success(info: Mapping[str, Any], task: str) -> bool:
    """Return whether a step's info reports success: False if it does not mention it.

    A text, such as "no", or NaN is refused, though Python holds both to be true.
    """
    value = info.get("success", info.get("is_success", False))
    return bool(_number(value, f"step of {task}", "success", "True or False", math.isfinite))


def time_limit(task: Task) -> int:
    """Return the environment's own limit of steps per episode; refuse one that declares none."""
    if isinstance(task, str):
        steps = known_spec(task).max_episode_steps
    else:
        env = _made(task)
        steps = env.spec.max_episode_steps if env.spec else None
        env.close()
    if steps is None:
        raise BadValueError(
            f"{task_label(task)} declares no time limit (spec.max_episode_steps): give the length "
            "of its episodes, horizon=200 to recall.make or horizon_steps=200 to recall.train"
        )
    return steps


def _flat_box(space: Space[Any], task: str, kind: str) -> Box:
    if not isinstance(space, Box) or len(space.shape) != 1:
        raise BadValueError(f"{kind}s of {task} are {space}: only a flat Box is supported")
    return space


def reports_success(task: Task, horizon_steps: int) -> bool:
    """Play an episode with random actions; return True if the environment reports success.

    It is played to its end, so that an environment that fails, or returns numbers that are not
    finite, is refused here. So is a task that gives one environment twice.
    """
    simulator = GymnasiumSimulator(task, 1, horizon_steps)
    name, rng, found = simulator.task, np.random.default_rng(0), False
    with contextlib.closing(simulator):
        _check_finite(f"reset of {name}", observation=simulator.reset(0, rng))
        for _ in range(horizon_steps):
            action = rng.uniform(-1.0, 1.0, simulator.action_space.shape)
            observation, reward, terminated, truncated, info = simulator._act(0, action)
            _check_finite(f"step of {name}", observation=observation, reward=reward)
            _success(info, name)  # refuses what is no success
            found = found or "success" in info or "is_success" in info
            if terminated or truncated:
                break
    # Only now, since an environment that holds a port or a licence may not exist twice.
    with contextlib.closing(simulator._make()) as again:
        _refuse_shared([simulator._envs[0], again], name)
    return found


def _check_finite(what: str, **values: Any) -> None:
    """Refuse values that are not finite. In training, they are a divergence, which ends a run."""
    for name, value in values.items():
        if not np.isfinite(value).all():
            raise BadValueError(f"{what} returned the {name} {value}: it must be finite")
