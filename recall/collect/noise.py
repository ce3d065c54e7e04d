"""The random numbers with which a run explores, step by step.

A hand that white noise moves hardly leaves its place. The power of coloured noise falls with the
frequency f as 1/f^colour, so the hand travels (Eberhard et al., 2023, "Pink Noise Is All You
Need"). White noise is seeded per chunk, coloured noise per stretch of an episode's length.
"""

import math

import numpy as np

from recall.collect.messages import ACTIONS
from recall.worlds.simulator import Array

_LONGEST_STRETCH = 1_000  # a stretch is drawn again for every chunk in it
_TAILS = 2**20  # keeps the draws of tails apart from those of any environment
_erf = np.vectorize(math.erf, otypes=[float])


def draw(
    stream: tuple[int, ...], first: int, shape: tuple[int, int], colour: float, horizon_steps: int
) -> Array:
    """Return standard normal numbers [step, act] for the steps from `first` on.

    The `stream` is the run's seed, the position of its task and, if it is not the first one of the
    run, the number of the environment.
    """
    if not colour:
        return _generator(stream, first).standard_normal(shape)
    steps, size = shape
    stretch = min(max(horizon_steps, 2), _LONGEST_STRETCH)  # one step alone has no frequency
    touched = range(first // stretch, (first + steps - 1) // stretch + 1)
    drawn = [coloured(_generator(stream, each), (stretch, size), colour) for each in touched]
    start = first % stretch
    return np.concatenate(drawn)[start : start + steps]


def draw_uniform(
    stream: tuple[int, ...], first: int, shape: tuple[int, int], colour: float, horizon_steps: int
) -> Array:
    """Return numbers [step, act], uniform in (-1, 1), for the steps from `first` on."""
    if not colour:
        return _generator(stream, first).uniform(-1.0, 1.0, shape)
    return _erf(draw(stream, first, shape, colour, horizon_steps) / math.sqrt(2.0))


def draw_tails(
    stream: tuple[int, ...], first: int, steps: int, share: float, horizon_steps: int
) -> Array:
    """Return at which of the `steps` from `first` on random motion replaces the policy's, [step].

    In a `share` of the stretches of an episode's length it takes over at a random step and lasts to
    the end, so that a policy which is stuck explores from where it has come.
    """
    numbers = np.arange(first, first + steps)
    stretch, within = np.divmod(numbers, horizon_steps)
    begins = np.full(steps, horizon_steps)
    for each in np.unique(stretch) if share else ():
        chosen, begin = _generator((*stream, _TAILS), int(each)).random(2)
        if chosen < share:
            begins[stretch == each] = int(begin * horizon_steps)
    return within >= begins


def draw_episode(stream: tuple[int, ...], shape: tuple[int, int]) -> Array:
    """Return standard normal numbers [step, act] for an episode outside of training."""
    return np.random.default_rng([*stream, 1]).standard_normal(shape)


def start_of_episode(stream: tuple[int, ...]) -> tuple[int, ...]:
    """Return the random stream from which an episode outside of training starts."""
    return (*stream, 0)


def coloured(rng: np.random.Generator, shape: tuple[int, int], colour: float) -> Array:
    """Return standard normal numbers [step, act] whose power falls with the frequency.

    Their mean over all steps is 0: otherwise, a hand moved at random met fewer rewards.
    """
    steps, size = shape
    frequencies = np.fft.rfftfreq(steps)
    amplitude = np.append(0.0, frequencies[1:] ** (-colour / 2.0))
    # With an even number of steps, the highest frequency has no phase.
    phased = (np.arange(len(frequencies)) < len(frequencies) - 1) | (steps % 2 == 1)
    real, imaginary = rng.standard_normal((2, size, len(frequencies)))
    waves = amplitude * np.where(phased, real + 1j * imaginary, math.sqrt(2.0) * real)
    deviation = math.sqrt(np.sum(amplitude**2 * np.where(phased, 4.0, 2.0))) / steps
    return np.fft.irfft(waves, steps, axis=1).T / deviation


def _generator(stream: tuple[int, ...], number: int) -> np.random.Generator:
    seed, *rest = stream
    return np.random.default_rng([seed, ACTIONS, *rest, number])
