"""Play the same episode as an evaluation does, and yield its images."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from recall.collect import noise
from recall.collect.policy import NumpyPolicy
from recall.collect.rolling import finite
from recall.worlds.simulator import Array, Simulator


class Frame(NamedTuple):
    """The image and state after a step."""

    picture: Array  # [height, width, 3] uint8
    step: int
    success: bool  # at this step or before


def filmed_episode(
    simulator: Simulator,
    horizon_steps: int,
    policy: NumpyPolicy,
    stream: tuple[int, ...],
    deterministic: bool,
    size: tuple[int, int],
    every: int = 1,
) -> Iterator[Frame]:
    """Play the episode of `stream` as recall.collect.worker does, a frame every `every` steps.

    The first frame shows the start and the last one the end, before anything is reset.
    """
    first = [*noise.start_of_episode(stream), 0]  # the first episode of that stream
    observation = simulator.reset(0, np.random.default_rng(first))
    drawn = noise.draw_episode(stream, (horizon_steps, simulator.action_space.shape[0]))
    success = False
    yield Frame(simulator.render(0, *size), 0, success)
    for step in range(1, horizon_steps + 1):
        action = policy.act(observation, None if deterministic else drawn[step - 1])
        result = simulator.step(finite(action.astype(np.float32))[np.newaxis])
        observation = result.observation[0]
        success |= bool(result.success[0])
        over = bool(result.terminated[0] | result.truncated[0] | result.diverged[0])
        if over or step == horizon_steps or step % every == 0:
            yield Frame(simulator.render(0, *size), step, success)
        if over:
            return
