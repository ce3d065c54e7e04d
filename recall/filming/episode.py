"""Play the same episode as an evaluation does, and yield its images."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import gymnasium
import numpy as np

from recall.errors import RecallError
from recall.worlds.simulator import Array, Simulator


class Frame(NamedTuple):
    """The image and state after a step."""

    picture: Array  # [height, width, 3] uint8
    step: int
    success: bool  # at this step or before


class Acting(Protocol):
    """A policy: recall.collect.policy.NumpyPolicy, or one written by hand."""

    def act(self, observation: Array, noise: Array | None) -> Array:
        """Return an action in [-1, 1]."""
        ...


def filmed_episode(
    simulator: Simulator,
    horizon_steps: int,
    policy: Acting,
    stream: tuple[int, ...],
    deterministic: bool,
    size: tuple[int, int],
    every: int = 1,
) -> Iterator[Frame]:
    """Play the episode of `stream` as recall.collect.worker does, a frame every `every` steps.

    The first frame shows the start and the last one the end, before anything is reset.
    """
    observation = simulator.reset(0, np.random.default_rng([*stream, 0, 0]))
    noise = _noise(simulator, horizon_steps, stream)
    success = False
    yield Frame(_picture(simulator, size), 0, success)
    for step in range(1, horizon_steps + 1):
        action = policy.act(observation, None if deterministic else noise[step - 1])
        finite = np.nan_to_num(action.astype(np.float32), posinf=1.0, neginf=-1.0)
        result = simulator.step(finite[np.newaxis])
        observation = result.observation[0]
        success |= bool(result.success[0])
        over = bool(result.terminated[0] | result.truncated[0] | result.diverged[0])
        if over or step == horizon_steps or step % every == 0:
            yield Frame(_picture(simulator, size), step, success)
        if over:
            return


def _noise(simulator: Simulator, horizon_steps: int, stream: tuple[int, ...]) -> Array:
    shape = (horizon_steps, simulator.action_space.shape[0])
    return np.random.default_rng([*stream, 1]).standard_normal(shape)


def _picture(simulator: Simulator, size: tuple[int, int]) -> Array:
    try:
        return simulator.render(0, *size)
    except NotImplementedError as error:
        raise RecallError(f"{error}, so it cannot be filmed") from error
    except gymnasium.error.Error as error:  # for example, a drawing library is not installed
        raise RecallError(f"{simulator.task} cannot be drawn: {error}") from error
