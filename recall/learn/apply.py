"""Applying gradients: clipping, Adam, PopArt and target smoothing, in one pass over each array.

What is not in the batch is not touched. Heads without a row keep their parameters, moments and
targets bit for bit, and temperatures learn from the current task's rows alone (from all rows
where everything is sampled).
"""

from typing import Any

import jax
import jax.numpy as jnp

from recall.learn import losses
from recall.learn.build import Blueprint
from recall.nets import adam, popart
from recall.nets.adam import Moments
from recall.nets.heads import joined, map_heads, put_heads
from recall.nets.multihead import LAST_LAYER
from recall.types import Array, Batch, Forward, Gradients, Metrics, Networks, Params, Trainable

_SMALL = 2**14  # numbers: below the kernel of a hidden layer, above biases and last layers


def statistics_of(
    blueprint: Blueprint, part: Networks | Trainable
) -> tuple[popart.Statistics, Array]:
    """The heads' target statistics and scale; mean 0 and scale 1 where nothing is normalised."""
    statistics: popart.Statistics = part.popart["heads"]
    return statistics, popart.sigma(statistics, blueprint.settings.popart.sigma_bounds)


def global_norm(tree: Params) -> Array:
    """Of all numbers together; the small arrays in one sum, since each costs a kernel."""
    leaves = jax.tree.leaves(tree)
    small = [leaf.ravel() for leaf in leaves if leaf.size <= _SMALL]
    large = [leaf for leaf in leaves if leaf.size > _SMALL]
    if small:
        large.append(jnp.concatenate(small))
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in large))


def apply_gradients(
    blueprint: Blueprint, whole: Trainable, gradients: Gradients, forward: Forward
) -> tuple[Trainable, Metrics]:
    """Move everything that this batch moves."""
    batch = forward.batch
    present, learns_alpha = _presence(batch, blueprint.method.sampling == "everything")
    norms = {
        "grad_norm_pi": global_norm(gradients.actor),
        "grad_norm_q": global_norm(gradients.critic),
    }
    rate, clip = blueprint.settings.sac.learning_rate, blueprint.method.clip_norm

    def clipped(gradient: Params, norm: Array) -> Params:
        if clip is None:
            return gradient
        scale = jnp.minimum(1.0, clip / jnp.maximum(norm, 1e-12))
        return jax.tree.map(lambda leaf: leaf * scale, gradient)

    actor, actor_moments = _adam(
        whole.actor, clipped(gradients.actor, norms["grad_norm_pi"]),
        whole.actor_moments, batch, present, rate,
    )  # fmt: skip
    log_alpha, alpha_moments = _adam(
        whole.log_alpha, gradients.log_alpha, whole.alpha_moments, batch, learns_alpha, rate
    )
    statistics, before, after = _move_statistics(blueprint, whole, forward)
    critic, target, critic_moments = _critics(
        blueprint, whole, clipped(gradients.critic, norms["grad_norm_q"]),
        batch, present, before, after,
    )  # fmt: skip
    moved = Trainable(
        actor=actor,
        critic=critic,
        target=target,
        log_alpha=log_alpha,
        actor_moments=actor_moments,
        critic_moments=critic_moments,
        alpha_moments=alpha_moments,
        popart={"heads": statistics},
    )
    return moved, norms


def _presence(batch: Batch, everything: bool) -> tuple[Array, Array]:
    """[heads] which heads have rows, and which learn their temperature."""
    heads = len(batch.heads)
    if everything:
        present = jnp.any(jax.nn.one_hot(batch.head_of_row(), heads, dtype=bool), axis=0)
        return present, present
    return jnp.ones(heads, bool), jnp.arange(heads) == heads - 1


def _where(present: Array, new: Any, old: Any) -> Any:
    def choose(after: Array, before: Array) -> Array:
        return jnp.where(present.reshape(-1, *(1,) * (after.ndim - 1)), after, before)

    return jax.tree.map(choose, new, old)


def _adam(
    params: Params, gradient: Params, moments: Moments, batch: Batch, present: Array, rate: float
) -> tuple[Params, Moments]:
    """Adam on whatever stands beside the heads, and on those heads that are present."""
    count = moments.steps + 1
    beside = {
        name: adam.step(
            params[name], gradient[name], moments.first[name], moments.second[name], count, rate
        )
        for name in params
        if name != "heads"
    }

    def step(p: Any, m: Any, v: Any, g: Any, present: Array) -> Any:
        return _where(present, adam.step(p, g, m, v, count, rate), (p, m, v))

    heads = map_heads(
        step,
        (params["heads"], moments.first["heads"], moments.second["heads"]),
        (joined(gradient["heads"]), present),
        batch.heads,
    )
    new = [{name: arrays[i] for name, arrays in beside.items()} | {"heads": heads[i]}
           for i in range(3)]  # fmt: skip
    return new[0], Moments(count, new[1], new[2])


def _critics(
    blueprint: Blueprint,
    whole: Trainable,
    gradient: Params,
    batch: Batch,
    present: Array,
    before: Any,
    after: Any,
) -> tuple[Params, Params, Moments]:
    """Adam on the critics, smoothing of their targets, outputs preserved in all four."""
    moments, sac = whole.critic_moments, blueprint.settings.sac
    count, rate, tau = moments.steps + 1, sac.learning_rate, sac.target_smoothing
    trunk, first, second = adam.step(
        whole.critic["trunk"], gradient["trunk"],
        moments.first["trunk"], moments.second["trunk"], count, rate,
    )  # fmt: skip
    target_trunk = whole.target["trunk"] + tau * (trunk - whole.target["trunk"])

    def step(
        p: Any, m: Any, v: Any, t: Any, g: Any, present: Array, *scales: tuple[Array, Array]
    ) -> Any:
        new_p, new_m, new_v = adam.step(p, g, m, v, count, rate)
        new_t = jax.tree.map(lambda t, p: t + tau * (p - t), t, new_p)
        if blueprint.method.normalise_targets:
            new_p |= {LAST_LAYER: popart.preserve_outputs(new_p[LAST_LAYER], *scales)}
            new_t |= {LAST_LAYER: popart.preserve_outputs(new_t[LAST_LAYER], *scales)}
        return _where(present, (new_p, new_m, new_v, new_t), (p, m, v, t))

    heads, first_heads, second_heads, target_heads = map_heads(
        step,
        (whole.critic["heads"], moments.first["heads"], moments.second["heads"],
         whole.target["heads"]),
        (joined(gradient["heads"]), present, before, after),
        batch.heads,
    )  # fmt: skip
    return (
        {"trunk": trunk, "heads": heads},
        {"trunk": target_trunk, "heads": target_heads},
        Moments(
            count,
            {"trunk": first, "heads": first_heads},
            {"trunk": second, "heads": second_heads},
        ),
    )


def _move_statistics(
    blueprint: Blueprint, whole: Trainable, forward: Forward
) -> tuple[popart.Statistics, Any, Any]:
    """All heads' statistics after the batch, and (mean, sigma) [heads] before and after."""
    settings, batch = blueprint.settings.popart, forward.batch
    statistics, sigma = statistics_of(blueprint, whole)
    heads = jnp.asarray(batch.heads)
    before = (statistics.mean[heads], sigma[heads])
    if not blueprint.method.normalise_targets:
        return statistics, before, before
    head = batch.head_of_row()
    followed = forward.target
    if settings.follow == "normalised":
        followed = (followed - before[0][head]) / before[1][head]
    mean, variance, present = losses.moments_by_head(followed, head, len(batch.heads))
    part = jax.tree.map(lambda leaf: leaf[heads], statistics)
    new = popart.update(part, mean, variance, present, settings.step_size, settings.bias_corrected)
    after = (new.mean, popart.sigma(new, settings.sigma_bounds))
    moved = jax.tree.map(lambda leaf, value: put_heads(leaf, value, batch.heads), statistics, new)
    return moved, before, after
