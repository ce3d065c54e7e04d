"""Checks of what a user's environment returns, with the task named in every error.

Gymnasium's own checkers warn about most of this and let it pass.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import gymnasium
import numpy as np

from recall.errors import BadValueError, RecallError, described
from recall.worlds.registry import task_label
from recall.worlds.simulator import Array, DrawingError, TaskFailedError

Env = gymnasium.Env[Any, Any]
RENDER_MODE = "rgb_array"
_REAL = "biuf"  # NumPy's kinds of truth values, whole numbers and floats
_USUAL = (float, bool, np.floating, np.bool_)
_CHANNELS = (3, 4)  # red, green, blue and perhaps opacity


def call(task: str, where: str, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call code of the user's; raise TaskFailedError, which names the task, if it fails."""
    try:
        return function(*arguments, **named)
    except RecallError:
        raise
    except (Exception, SystemExit) as error:
        raise TaskFailedError(f"task {task}: {where} raised {described(error)}") from error


def made(function: Callable[[], Any]) -> Env:
    """Return the environment that a user's function makes; refuse anything else that it returns."""
    name = task_label(function)
    env = call(name, "its constructor", function)
    if not isinstance(env, gymnasium.Env):
        raise BadValueError(
            f"{name} returned {env!r}: a task's function must return a Gymnasium environment"
        )
    return env


def refuse_shared(envs: Sequence[Env], task: str) -> None:
    """Raise an error if two of these environments are one object, perhaps in different wrappers."""
    if len({id(env.unwrapped) for env in envs}) < len(envs):
        raise BadValueError(
            f"{task} gave the same environment twice: it must make a new one each time, since "
            "every run and worker process needs its own"
        )


def reset(
    env: Env, task: str, shape: tuple[int, ...], seed: int, options: dict[str, Any] | None
) -> Array:
    """Reset an environment and return its first observation, of the given shape."""
    what = f"reset of {task}"
    answer = call(task, "reset()", env.reset, seed=seed, options=options)
    observation, _ = _values(answer, what, 2)
    return _observation(observation, what, shape)


def step(
    env: Env, task: str, shape: tuple[int, ...], action: Array
) -> tuple[Array, float, bool, bool, Mapping[str, Any]]:
    """Step an environment and return what it answers, with an observation of the given shape."""
    what = f"step of {task}"
    answer = call(task, "step()", env.step, action)
    observation, reward, terminated, truncated, info = _values(answer, what, 5)
    return (
        _observation(observation, what, shape),
        _number(reward, what, "its reward", "one number"),
        _end(terminated, what),
        _end(truncated, what),
        info,
    )


def success(info: Mapping[str, Any], task: str) -> bool:
    """Return whether a step's info reports success: False if it does not mention it.

    A text, such as "no", or NaN is refused, though Python holds both to be true.
    """
    value = info.get("success", info.get("is_success", False))
    found = _number(value, f"step of {task}", "success", "True or False")
    if not math.isfinite(found):
        raise BadValueError(f"step of {task} returned {value!r} as success: give True or False")
    return bool(found)


def image(env: Env, task: str) -> Array:
    """Return the environment's image, [height, width, 3] uint8."""
    with drawing(task):
        drawn: Any = env.render()
    if not isinstance(drawn, np.ndarray) or drawn.ndim != 3 or drawn.shape[2] not in _CHANNELS:
        kind = f"an array of shape {drawn.shape}" if isinstance(drawn, np.ndarray) else repr(drawn)
        raise DrawingError(f"{task} cannot be drawn: render() returned {kind:.80}, not an image")
    return np.asarray(drawn[..., :3], np.uint8)


@contextmanager
def drawing(task: str) -> Iterator[None]:
    """Turn whatever an environment raises while it is drawn into an error that names the task."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=UserWarning, module="gymnasium")
            yield
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise DrawingError(
            f"{task} cannot be drawn: {reason}. Its constructor must take "
            f'render_mode="{RENDER_MODE}", and render() must return an image'
        ) from error


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


def _observation(value: Any, what: str, shape: tuple[int, ...]) -> Array:
    numbers = np.asarray(value)
    if numbers.shape != shape:
        raise BadValueError(
            f"{what} returned an observation of shape {numbers.shape}, but its "
            f"observation_space has shape {shape}: make them agree"
        )
    if numbers.dtype.kind not in _REAL:
        raise BadValueError(f"{what} returned the observation {value!r}: it must hold real numbers")
    return np.asarray(numbers, np.float64)


def _end(value: Any, what: str) -> bool:
    """Return whether an episode ended; refuse what may be another of the values, as the reward."""
    name, wanted = "terminated or truncated", "True or False"
    number = _number(value, what, name, wanted)
    if number not in (0.0, 1.0):
        raise BadValueError(f"{what} returned {value!r} as {name}: it must be {wanted}")
    return bool(number)


def _number(value: Any, what: str, name: str, wanted: str) -> float:
    """Return a number, or the one number of an array; refuse anything else that was returned."""
    if isinstance(value, _USUAL):  # nearly always, and this is called at every step
        return float(value)
    numbers = np.asarray(value) if isinstance(value, int) or hasattr(value, "__array__") else None
    if numbers is None or numbers.size != 1 or numbers.dtype.kind not in _REAL:
        raise BadValueError(f"{what} returned {value!r} as {name}: it must be {wanted}")
    return float(numbers.item())
