"""Checks of what a user's function and environment return, with the task named in every error.

An environment of the old Gym API, or one whose space is not what it returns, would otherwise fail
far from its cause, in the arithmetic of a worker process.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np

from recall.errors import BadValueError, RecallError
from recall.worlds.registry import task_label
from recall.worlds.simulator import Array, TaskFailedError

_Env = gymnasium.Env[Any, Any]
_RESET = ("observation", "info")
_STEP = ("observation", "reward", "terminated", "truncated", "info")
_REAL = "biuf"  # NumPy's kinds of truth values, whole numbers and floats
_FLOATS, _FLAGS = (float, np.floating), (bool, np.bool_)


def made(function: Any) -> _Env:
    """Return the environment that a user's function makes; refuse anything else that it returns."""
    name = task_label(function)
    try:
        inspect.signature(function).bind()
    except TypeError as error:
        raise BadValueError(
            f"{name} is called without arguments, which it does not allow ({error}): give them "
            f"defaults, or define a function without any: def my_task(): return {name}(...)"
        ) from error
    except ValueError:  # some functions of C have no signature
        pass
    env = raising(name, "its constructor", function)
    if not isinstance(env, gymnasium.Env):
        raise BadValueError(
            f"{name} returned {env!r}: a task's function must return a Gymnasium environment"
        )
    return env


def raising(task: str, where: str, call: Callable[[], Any]) -> Any:
    """Call code of the user's; raise TaskFailedError, which names the task, if it fails."""
    try:
        return call()
    except RecallError:
        raise
    except Exception as error:
        raise TaskFailedError(
            f"task {task}: {where} raised {type(error).__name__}: {error}"
        ) from error


def refuse_shared(envs: Sequence[_Env], task: str) -> None:
    """Raise an error if two of these environments are one object, perhaps in different wrappers.

    They would step and reset one another, and training would go on with wrong data.
    """
    if len({id(env.unwrapped) for env in envs}) < len(envs):
        raise BadValueError(
            f"{task} gave the same environment twice: it must make a new one each time, since "
            "every run and worker process needs its own: def my_task(): return gymnasium.make(...)"
        )


def reset(
    env: _Env, task: str, shape: tuple[int, ...], seed: int, options: dict[str, Any] | None
) -> Array:
    """Reset an environment and return its first observation, of the given shape."""
    try:
        answer: Any = env.reset(seed=seed, options=options)
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        raise BadValueError(
            f"reset of {task} failed ({error}): it must take what Gymnasium gives it, "
            "def reset(self, *, seed=None, options=None)"
        ) from error
    _check_values(answer, f"reset of {task}", _RESET)
    return _observation(answer[0], f"reset of {task}", shape)


def step(
    env: _Env, task: str, shape: tuple[int, ...], action: Array
) -> tuple[Array, float, bool, bool, Mapping[str, Any]]:
    """Step an environment and return what it answers, with an observation of the given shape."""
    answer: Any = env.step(action)
    what = f"step of {task}"
    _check_values(answer, what, _STEP)
    observation, reward, terminated, truncated, info = answer
    return (
        _observation(observation, what, shape),
        _reward(reward, what),
        _flag(terminated, what, "terminated"),
        _flag(truncated, what, "truncated"),
        info,
    )


def check_finite(observation: Array, reward: float, what: str) -> None:
    """Refuse an observation or a reward that is not finite.

    This is no check of every step: in training, such a step is a divergence, which ends its run
    alone.
    """
    if not np.isfinite(observation).all():
        raise BadValueError(
            f"{what} returned the observation {observation}: its numbers must be finite"
        )
    if not np.isfinite(reward):
        raise BadValueError(f"{what} returned {reward!r} as its reward: it must be finite")


def success(info: Mapping[str, Any], task: str) -> bool:
    """Return whether a step's info reports success: False if it does not mention it.

    Success is what results measure, so nothing is taken for it merely because Python holds it to be
    true, such as the text "no" or a NaN.
    """
    value = info.get("success", info.get("is_success", False))
    if isinstance(value, bool):  # nearly always, and this is called at every step
        return value
    number = _real(value)
    if number is not None and number.size == 1 and np.isfinite(number).all():
        return bool(number.item())
    key = "success" if "success" in info else "is_success"
    raise BadValueError(
        f'step of {task} returned {value!r} as info["{key}"]: it must be True or False'
    )


def _check_values(answer: Any, what: str, names: tuple[str, ...]) -> None:
    if not isinstance(answer, tuple):
        raise BadValueError(f"{what} returned one {type(answer).__name__}; {_wanted(names)}")
    if len(answer) != len(names):
        raise BadValueError(f"{what} returned {len(answer)} values; {_wanted(names)}")
    if not isinstance(answer[-1], Mapping):
        raise BadValueError(f"{what} returned {answer[-1]!r} as its info: it must be a dict")


def _wanted(names: tuple[str, ...]) -> str:
    return (
        f"Gymnasium's returns {len(names)}: {', '.join(names)}. Environments of the old Gym API "
        "need a wrapper, such as those of the package shimmy"
    )


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


def _reward(value: Any, what: str) -> float:
    if isinstance(value, _FLOATS):  # nearly always, and this is called at every step
        return float(value)
    number = _real(value)
    if number is None or number.shape != ():
        raise BadValueError(f"{what} returned {value!r} as its reward: it must be one number")
    return float(number)


def _flag(value: Any, what: str, name: str) -> bool:
    if isinstance(value, _FLAGS):  # nearly always, and this is called at every step
        return bool(value)
    flag = _real(value)
    if flag is None or flag.shape != () or flag not in (0, 1):
        raise BadValueError(f"{what} returned {value!r} as {name}: it must be True or False")
    return bool(flag)


def _real(value: Any) -> Array | None:
    """Return a real number, or an array of them, as an array; None for anything else."""
    if not (isinstance(value, int | float) or hasattr(value, "__array__")):
        return None
    numbers = np.asarray(value)
    return numbers if numbers.dtype.kind in _REAL else None
