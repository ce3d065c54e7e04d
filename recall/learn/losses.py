"""The losses of the paper, each as its equation, weighted row by row.

`weights` [batch] sums to 1 by default, so a weighted sum is the expectation over D_new and D_old.
"""

import jax
import jax.numpy as jnp

from recall.nets.arrays import Array


def target(
    returns: Array,
    discount: Array,
    target_q: Array,
    mean: Array,
    sigma: Array,
    alpha: Array,
    log_pi: Array,
) -> Array:
    """Return the raw targets Q_tau = R_n + gamma^n (sigma min Q_norm + mu - alpha log pi), [batch].

    `discount` is 0 where the episode terminated. Truncation does not end an episode.
    """
    value = sigma * jnp.min(target_q, axis=0) + mean - alpha * log_pi
    return jax.lax.stop_gradient(returns + discount * value)


def q_loss(q: Array, target: Array, mean: Array, sigma: Array, weights: Array) -> Array:
    """Return L_Q,norm = E 1/2 (Q_norm - (Q_tau - mu) / sigma)^2, summed over the two critics.

    `target` is [batch], or [critic, batch] where each critic has its own.
    """
    normalised = (target - mean) / sigma
    return jnp.sum(weights * 0.5 * (q - normalised) ** 2)


def policy_loss(q: Array, alpha: Array, log_pi: Array, weights: Array) -> Array:
    """Return L_pi,norm = E [alpha log pi - min Q_norm]."""
    return jnp.sum(weights * (alpha * log_pi - jnp.min(q, axis=0)))


def alpha_loss(log_alpha: Array, log_pi: Array, target_entropy: float, weights: Array) -> Array:
    """Return L_alpha = -E log alpha (log pi + H), SAC's rule for the temperature."""
    return -jnp.sum(weights * log_alpha * jax.lax.stop_gradient(log_pi + target_entropy))


def moments_by_head(values: Array, head: Array, heads: int) -> tuple[Array, Array, Array]:
    """Return mean, variance and presence, [heads], of values [batch] by the head of their row.

    A head counts as present from two rows on, because one value has no spread.
    """
    one_hot = jax.nn.one_hot(head, heads, dtype=values.dtype, axis=0)  # [heads, batch]
    count = jnp.sum(one_hot, axis=1)
    safe = jnp.maximum(count, 1.0)
    mean = jnp.sum(one_hot * values, axis=1) / safe
    variance = jnp.sum(one_hot * (values - mean[head]) ** 2, axis=1) / safe
    return mean, variance, count > 1
