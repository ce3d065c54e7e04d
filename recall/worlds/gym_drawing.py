"""Images that a Gymnasium environment draws of itself, and the reason if it draws none.

Environments are other people's code, and few were ever drawn before a film is made of them. So
whatever an environment raises while it draws becomes an error that names the task.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium
import numpy as np

from recall.worlds.simulator import Array, DrawingError

_Env = gymnasium.Env[Any, Any]
RENDER_MODE = "rgb_array"
_NEEDED = (
    f'it must take render_mode="{RENDER_MODE}", list it in metadata["render_modes"], and return '
    "an image from render()"
)
_CHANNELS = (3, 4)  # red, green, blue and perhaps opacity


def made(make: Callable[[], _Env], task: str) -> _Env:
    """Return the environment that `make` makes for drawing."""
    try:
        with _without_advice():
            return make()
    except gymnasium.error.Error as error:  # such as DependencyNotInstalled, which says what to do
        raise DrawingError(f"{task} cannot be drawn: {error}") from error
    except TypeError as error:
        if "render_mode" not in str(error):
            raise _failed(task, error) from error
        raise DrawingError(
            f"{task} cannot be drawn: its constructor takes no render_mode; {_NEEDED}"
        ) from error
    except Exception as error:
        raise _failed(task, error) from error


def image(env: _Env, task: str) -> Array:
    """Return the environment's image, [height, width, 3] uint8."""
    try:
        with _without_advice():
            drawn: Any = env.render()
    except gymnasium.error.Error as error:
        raise DrawingError(f"{task} cannot be drawn: {error}") from error
    except NotImplementedError as error:
        raise DrawingError(f"{task} cannot be drawn: it has no render(); {_NEEDED}") from error
    except Exception as error:
        raise _failed(task, error) from error
    if not isinstance(drawn, np.ndarray) or drawn.ndim != 3 or drawn.shape[2] not in _CHANNELS:
        raise DrawingError(
            f"{task} cannot be drawn: its render() returned {_kind(drawn)}; {_NEEDED}"
        )
    return np.asarray(drawn[..., :3], np.uint8)


@contextmanager
def _without_advice() -> Iterator[None]:
    """Silence Gymnasium's warnings to authors of environments: the errors here say the same."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning, module="gymnasium")
        yield


def _failed(task: str, error: Exception) -> DrawingError:
    reason = " ".join(str(error).split()) or "without a reason"
    return DrawingError(
        f"{task} cannot be drawn: {type(error).__name__}: {reason.rstrip('.')}; {_NEEDED}"
    )


def _kind(drawn: Any) -> str:
    if isinstance(drawn, np.ndarray):
        return f"an array of shape {drawn.shape}"
    return "None" if drawn is None else f"a {type(drawn).__name__}"
