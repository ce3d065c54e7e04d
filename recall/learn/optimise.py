"""Applying gradients: clipping, Adam, PopArt and target smoothing, in one pass over each array.

What is not in the batch is not touched. Heads without a row keep their parameters, moments and
targets bit for bit, and temperatures learn from the current task's rows alone (from all rows
where everything is sampled).
"""

from typing import Any

import jax
import jax.numpy as jnp

from recall.learn import losses
from recall.learn.agent import Agent
from recall.learn.state import Forward, Gradients, Networks, Trainable
from recall.nets import adam, popart
from recall.nets.adam import Moments
from recall.nets.arrays import Array, Metrics, Params
from recall.nets.heads import Blocks, joined, map_heads, put_heads, take_heads
from recall.nets.multihead import LAST_LAYER
from recall.replay.batch import Batch
from recall.settings import SacSettings

_SMALL = 2**14  # numbers: below the kernel of a hidden layer, above biases and last layers


def statistics_of(agent: Agent, part: Networks | Trainable) -> tuple[popart.Statistics, Array]:
    """The heads' target statistics and scale; mean 0 and scale 1 where nothing is normalised."""
    statistics: popart.Statistics = part.popart["heads"]
    return statistics, popart.sigma(statistics, agent.settings.popart.sigma_bounds)


def global_norm(tree: Params) -> Array:
    """Of all numbers together; the small arrays in one sum, since each costs a kernel."""
    leaves = jax.tree.leaves(tree)
    small = [leaf.ravel() for leaf in leaves if leaf.size <= _SMALL]
    large = [leaf for leaf in leaves if leaf.size > _SMALL]
    if small:
        large.append(jnp.concatenate(small))
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in large))


def scale_of_loss(
    agent: Agent,
    statistics: popart.Statistics,
    sigma: Array,
    target: Array,
    head: Array,
) -> tuple[Array, Array]:
    """(mu, sigma) [batch] that normalise the targets [batch] in the critics' loss.

    A head that was never updated has no statistics yet: its first batch normalises itself, with
    what becomes its statistics afterwards. By (0, 1) its first gradient would be as large as its
    rewards, and stay in Adam's second moment for a thousand updates.
    """
    settings = agent.settings.popart
    mean = statistics.mean
    if agent.method.normalise_targets and settings.bias_corrected:
        first, variance, present = losses.moments_by_head(target, head, len(sigma))
        untouched = present & (statistics.updates == 0)
        mean = jnp.where(untouched, first, mean)
        own = jnp.clip(jnp.sqrt(variance), *settings.sigma_bounds)
        sigma = jnp.where(untouched, own, sigma)
    return mean[head], sigma[head]


def apply_gradients(
    agent: Agent, whole: Trainable, gradients: Gradients, forward: Forward
) -> tuple[Trainable, Metrics]:
    """Move everything that this batch moves."""
    batch = forward.batch
    present, learns_alpha = _presence(batch, agent.method.sampling == "uniform")
    sac, method = agent.settings.sac, agent.method
    of_actor, norms_actor = clipped(gradients.actor, method.clip_norm)
    clip_critics = method.clip_norm if method.clip_critics else None
    of_critic, norms_critic = clipped(gradients.critic, clip_critics)
    norms = {f"{name}_pi": norm for name, norm in norms_actor.items()}
    norms |= {f"{name}_q": norm for name, norm in norms_critic.items()}

    actor, actor_moments = _adam(whole.actor, of_actor, whole.actor_moments, batch, present, sac)
    log_alpha, alpha_moments = _adam(
        whole.log_alpha, gradients.log_alpha, whole.alpha_moments, batch, learns_alpha, sac
    )
    statistics, before, after = _move_statistics(agent, whole, forward)
    critic, target, critic_moments = _critics(
        agent, whole, of_critic, batch, present, before, after
    )
    moved = Trainable(
        actor=actor,
        critic=critic,
        target=target,
        log_alpha=log_alpha,
        actor_moments=actor_moments,
        critic_moments=critic_moments,
        alpha_moments=alpha_moments,
        popart={"heads": statistics},
        rewards=whole.rewards,
        averaged=_averaged(method.average_actor, whole.averaged, actor, batch),
    )
    return moved, norms


def clipped(gradient: Params, limit: float | None) -> tuple[Params, Metrics]:
    """Bound the norms of a network's gradient; return its trunk summed up, and the norms.

    New and old rows have a gradient each, where they come in groups, and a bound each: an old
    task with a large gradient does not scale down that of the new one.
    """

    def bounded(tree: Params) -> tuple[Params, Array]:
        norm = global_norm(tree)
        if limit is None:
            return tree, norm
        scale = jnp.minimum(1.0, limit / jnp.maximum(norm, 1e-12))
        return jax.tree.map(lambda leaf: leaf * scale, tree), norm

    if not isinstance(gradient["trunk"], Blocks):
        tree, norm = bounded(gradient)
        return tree, {"grad_norm": norm}
    old, old_norm = bounded({name: blocks.old for name, blocks in gradient.items()})
    new, new_norm = bounded({name: blocks.new for name, blocks in gradient.items()})
    tree = {"trunk": old["trunk"] + new["trunk"], "heads": Blocks(old["heads"], new["heads"])}
    return tree, {"grad_norm": new_norm, "old_grad_norm": old_norm}


def _averaged(
    share: float | None, averaged: Params | None, actor: Params, batch: Batch
) -> Params | None:
    """Move the average towards the actor: the trunk, and the heads of the batch."""
    if share is None or averaged is None:
        return None

    def towards(average: Any, now: Any) -> Any:
        return jax.tree.map(lambda a, b: a + share * (b - a), average, now)

    beside = {name: towards(averaged[name], actor[name]) for name in actor if name != "heads"}
    now = take_heads({"heads": actor["heads"]}, batch.heads)["heads"]
    (heads,) = map_heads(
        lambda average, now: (towards(average, now),), (averaged["heads"],), (now,), batch.heads
    )
    return beside | {"heads": heads}


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
    params: Params,
    gradient: Params,
    moments: Moments,
    batch: Batch,
    present: Array,
    sac: SacSettings,
) -> tuple[Params, Moments]:
    """Adam on whatever stands beside the heads, and on those heads that are present."""
    how = sac.learning_rate, sac.adam_epsilon
    shared = moments.steps["shared"] + 1
    beside = {
        name: adam.step(
            params[name], gradient[name], moments.first[name], moments.second[name], shared, *how
        )
        for name in params
        if name != "heads"
    }

    def step(p: Any, m: Any, v: Any, n: Array, g: Any, present: Array) -> Any:
        return _where(present, (*adam.step(p, g, m, v, n + 1, *how), n + 1), (p, m, v, n))

    *heads, counts = map_heads(
        step,
        (params["heads"], moments.first["heads"], moments.second["heads"], moments.steps["heads"]),
        (joined(gradient["heads"]), present),
        batch.heads,
    )
    new = [{name: arrays[i] for name, arrays in beside.items()} | {"heads": heads[i]}
           for i in range(3)]  # fmt: skip
    return new[0], Moments({"shared": shared, "heads": counts}, new[1], new[2])


def _critics(
    agent: Agent,
    whole: Trainable,
    gradient: Params,
    batch: Batch,
    present: Array,
    before: Any,
    after: Any,
) -> tuple[Params, Params, Moments]:
    """Adam on the critics, smoothing of their targets, outputs preserved in all four."""
    moments, sac = whole.critic_moments, agent.settings.sac
    how, tau = (sac.learning_rate, sac.adam_epsilon), sac.target_smoothing
    shared = moments.steps["shared"] + 1
    trunk, first, second = adam.step(
        whole.critic["trunk"], gradient["trunk"],
        moments.first["trunk"], moments.second["trunk"], shared, *how,
    )  # fmt: skip
    target_trunk = whole.target["trunk"] + tau * (trunk - whole.target["trunk"])

    def step(
        p: Any, m: Any, v: Any, t: Any, n: Array, g: Any, present: Array,
        *scales: tuple[Array, Array],
    ) -> Any:  # fmt: skip
        new_p, new_m, new_v = adam.step(p, g, m, v, n + 1, *how)
        new_t = jax.tree.map(lambda t, p: t + tau * (p - t), t, new_p)
        if agent.method.normalise_targets:
            new_p |= {LAST_LAYER: popart.preserve_outputs(new_p[LAST_LAYER], *scales)}
            new_t |= {LAST_LAYER: popart.preserve_outputs(new_t[LAST_LAYER], *scales)}
        return _where(present, (new_p, new_m, new_v, new_t, n + 1), (p, m, v, t, n))

    heads, first_heads, second_heads, target_heads, counts = map_heads(
        step,
        (whole.critic["heads"], moments.first["heads"], moments.second["heads"],
         whole.target["heads"], moments.steps["heads"]),
        (joined(gradient["heads"]), present, before, after),
        batch.heads,
    )  # fmt: skip
    return (
        {"trunk": trunk, "heads": heads},
        {"trunk": target_trunk, "heads": target_heads},
        Moments(
            {"shared": shared, "heads": counts},
            {"trunk": first, "heads": first_heads},
            {"trunk": second, "heads": second_heads},
        ),
    )


def _move_statistics(
    agent: Agent, whole: Trainable, forward: Forward
) -> tuple[popart.Statistics, Any, Any]:
    """All heads' statistics after the batch, and (mean, sigma) [heads] before and after."""
    settings, batch = agent.settings.popart, forward.batch
    statistics, sigma = statistics_of(agent, whole)
    heads = jnp.asarray(batch.heads)
    before = (statistics.mean[heads], sigma[heads])
    if not agent.method.normalise_targets:
        return statistics, before, before
    head = batch.head_of_row()
    followed = forward.target
    if settings.statistics_of == "normalised":
        followed = (followed - before[0][head]) / before[1][head]
    mean, variance, present = losses.moments_by_head(followed, head, len(batch.heads))
    if agent.method.distils_critics:  # old values stay, and so does their scale
        present &= jnp.arange(len(batch.heads)) == len(batch.heads) - 1
    part = jax.tree.map(lambda leaf: leaf[heads], statistics)
    new = popart.update(part, mean, variance, present, settings.step_size, settings.bias_corrected)
    after = (new.mean, popart.sigma(new, settings.sigma_bounds))
    if settings.bias_corrected:
        # A head's first batch sets its scale. Nothing was learnt at the scale before it, so its
        # outputs are not rewritten: they would shrink to a constant, a copied critic's too.
        begins = part.updates == 0
        before = (
            jnp.where(begins, after[0], before[0]),
            jnp.where(begins, after[1], before[1]),
        )
    moved = jax.tree.map(lambda leaf, value: put_heads(leaf, value, batch.heads), statistics, new)
    return moved, before, after
