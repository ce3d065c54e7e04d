"""The policy's distribution: a Gaussian squashed by tanh.

It is implemented here rather than taken from distrax because it is a dozen lines, while distrax
would bring TensorFlow Probability into a light install and into every compilation.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

from recall.nets.arrays import Array
from recall.nets.constants import LOG_STD_RANGE


class Gaussian(NamedTuple):
    """Mean and log standard deviation before tanh, each [..., act]."""

    mean: Array
    log_std: Array


def from_outputs(outputs: Array) -> Gaussian:
    """Return the distribution that the actor's outputs [..., 2 act] describe."""
    mean, log_std = jnp.split(outputs, 2, axis=-1)
    return Gaussian(mean, jnp.clip(log_std, *LOG_STD_RANGE))


def sample(policy: Gaussian, noise: Array) -> tuple[Array, Array]:
    """Return actions in (-1, 1), [..., act], and log probabilities, given standard normal noise."""
    before = policy.mean + jnp.exp(policy.log_std) * noise
    log_normal = -0.5 * noise**2 - policy.log_std - 0.5 * math.log(2 * math.pi)
    # log(1 - tanh(u)^2), in a form without overflow or cancellation.
    log_slope = 2.0 * (math.log(2.0) - before - jax.nn.softplus(-2.0 * before))
    return jnp.tanh(before), jnp.sum(log_normal - log_slope, axis=-1)


def kl(new: Gaussian, old: Gaussian) -> Array:
    """Return KL(new || old) of the Gaussians before tanh, per action dimension, [..., act]."""
    ratio = jnp.exp(2.0 * (new.log_std - old.log_std))
    distance = ((new.mean - old.mean) * jnp.exp(-old.log_std)) ** 2
    return 0.5 * (ratio + distance - 1.0) - (new.log_std - old.log_std)


def target_entropy(action_size: int, output_std: float) -> Array:
    """Return the target entropy: that of a Gaussian with std `output_std` in every dimension."""
    return action_size * (jnp.log(output_std) + 0.5 * math.log(2.0 * math.pi * math.e))
