"""The optimiser step: clipping, Adam, PopArt's output preservation and Polyak averaging.

Heads without a row in the batch keep their parameters, moments, step counts and targets bit for
bit. Temperatures learn from the current task's rows alone, or from all rows where sampling is
uniform. Everything that happens to a head happens in one pass over its arrays, which is what the
step costs.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from recall.learn.agent import Agent
from recall.learn.clipping import clip
from recall.learn.state import Forward, Gradients, Trainable
from recall.learn.target_scale import Scale, move_statistics
from recall.nets import adam, popart
from recall.nets.adam import Moments
from recall.nets.arrays import Array, Metrics, Params
from recall.nets.heads import Rows, map_heads, take_heads
from recall.nets.multihead import LAST_LAYER
from recall.nets.polyak import polyak
from recall.replay.batch import Batch
from recall.settings import SacSettings


def apply_gradients(
    agent: Agent, whole: Trainable, gradients: Gradients, forward: Forward
) -> tuple[Trainable, Metrics]:
    """Return everything that the batch trains after one step, and the gradients' norms."""
    method, sac, batch = agent.method, agent.settings.sac, forward.batch
    of_actor, actor_norms = clip(gradients.actor, method.clip_norm, method.clip_apart)
    of_critic, critic_norms = clip(
        gradients.critic, method.clip_norm if method.clip_critics else None, method.clip_apart
    )
    present, learns_alpha = _presence(batch, method.sampling == "uniform")

    actor, actor_moments = _adam(whole.actor, of_actor, whole.actor_moments, batch, present, sac)
    log_alpha, alpha_moments = _adam(
        whole.log_alpha, gradients.log_alpha, whole.alpha_moments, batch, learns_alpha, sac
    )
    statistics, before, after = move_statistics(agent, whole, forward)
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
        averaged=_averaged(method.average_actor, whole.averaged, actor, batch, present),
    )
    norms = {f"{name}_pi": norm for name, norm in actor_norms.items()}
    return moved, norms | {f"{name}_q": norm for name, norm in critic_norms.items()}


def _presence(batch: Batch, uniform: bool) -> tuple[Array, Array]:
    """Return which heads [heads] have rows, and which learn their temperature.

    A static layout of rows has some for every head, and the current task's is the last.
    """
    heads = len(batch.heads)
    if isinstance(batch.rows, Rows) and not uniform:
        return jnp.ones(heads, bool), jnp.arange(heads) == heads - 1
    of_row = jax.nn.one_hot(batch.head_of_row(), heads, dtype=bool)
    present = jnp.any(of_row, axis=0)
    return present, present if uniform else jnp.any(of_row & (batch.new > 0)[:, None], axis=0)


def _where(present: Array, new: Any, old: Any) -> Any:
    """Return the leaves [heads, ...] of `new` where a head is present, else those of `old`."""

    def choose(after: Array, before: Array) -> Array:
        return jnp.where(present.reshape(-1, *(1,) * (after.ndim - 1)), after, before)

    return jax.tree.map(choose, new, old)


class _Heads(NamedTuple):
    """What Adam reads and writes of heads, leaves [heads, ...]."""

    params: Any
    first: Any
    second: Any
    steps: Any

    def after(self, gradient: Any, sac: SacSettings) -> "_Heads":
        """Return the heads after one step of Adam."""
        steps = self.steps + 1
        moved = adam.step(
            self.params,
            gradient,
            self.first,
            self.second,
            steps,
            sac.learning_rate,
            sac.adam_epsilon,
        )
        return _Heads(*moved, steps)


def _heads_of(params: Params, moments: Moments) -> _Heads:
    return _Heads(
        params["heads"], moments.first["heads"], moments.second["heads"], moments.steps["heads"]
    )


def _adam_beside_heads(
    params: Params, gradient: Params, moments: Moments, sac: SacSettings
) -> tuple[Params, Moments]:
    """Step whatever stands beside the heads; the heads are not in what is returned."""
    names = [name for name in params if name != "heads"]
    steps = moments.steps["shared"] + 1
    moved = {
        name: adam.step(
            params[name],
            gradient[name],
            moments.first[name],
            moments.second[name],
            steps,
            sac.learning_rate,
            sac.adam_epsilon,
        )
        for name in names
    }
    new, first, second = ({name: moved[name][part] for name in names} for part in range(3))
    return new, Moments({"shared": steps}, first, second)


def _joint(beside: tuple[Params, Moments], heads: _Heads) -> tuple[Params, Moments]:
    """Put the heads back to what stands beside them."""
    params, moments = beside
    return params | {"heads": heads.params}, Moments(
        moments.steps | {"heads": heads.steps},
        moments.first | {"heads": heads.first},
        moments.second | {"heads": heads.second},
    )


def _adam(
    params: Params,
    gradient: Params,
    moments: Moments,
    batch: Batch,
    present: Array,
    sac: SacSettings,
) -> tuple[Params, Moments]:
    """Step whatever stands beside the heads, and those heads that are present."""
    beside = _adam_beside_heads(params, gradient, moments, sac)

    def step(heads: _Heads, gradient: Any, present: Array) -> tuple[_Heads]:
        return (_where(present, heads.after(gradient, sac), heads),)

    (heads,) = map_heads(
        step,
        (_heads_of(params, moments),),
        (gradient["heads"], present),
        batch.heads,
    )
    return _joint(beside, heads)


def _critics(
    agent: Agent,
    whole: Trainable,
    gradient: Params,
    batch: Batch,
    present: Array,
    before: Scale,
    after: Scale,
) -> tuple[Params, Params, Moments]:
    """Step the critics, let their targets follow, preserve the outputs of all four networks."""
    sac = agent.settings.sac
    trunk, moments = _adam_beside_heads(whole.critic, gradient, whole.critic_moments, sac)
    target_trunk = polyak(whole.target["trunk"], trunk["trunk"], sac.target_smoothing)

    def preserve(layers: Any, before: Scale, after: Scale) -> Any:
        if not agent.method.normalise_targets:
            return layers
        return layers | {LAST_LAYER: popart.preserve_outputs(layers[LAST_LAYER], before, after)}

    def step(
        heads: _Heads, target: Any, gradient: Any, present: Array, before: Scale, after: Scale
    ) -> tuple[_Heads, Any]:
        moved = heads.after(gradient, sac)
        following = polyak(target, moved.params, sac.target_smoothing)
        moved = moved._replace(params=preserve(moved.params, before, after))
        following = preserve(following, before, after)
        stepped: tuple[_Heads, Any] = _where(present, (moved, following), (heads, target))
        return stepped

    heads, target_heads = map_heads(
        step,
        (_heads_of(whole.critic, whole.critic_moments), whole.target["heads"]),
        (gradient["heads"], present, before, after),
        batch.heads,
    )
    critic, critic_moments = _joint((trunk, moments), heads)
    return critic, {"trunk": target_trunk, "heads": target_heads}, critic_moments


def _averaged(
    share: float | None, averaged: Params | None, actor: Params, batch: Batch, present: Array
) -> Params | None:
    """Let the actor's average follow: what stands beside the heads, and the heads present."""
    if share is None or averaged is None:
        return None
    beside = {name: polyak(averaged[name], actor[name], share) for name in actor if name != "heads"}
    now = take_heads({"heads": actor["heads"]}, batch.heads)["heads"]

    def follow(average: Any, now: Any, present: Array) -> tuple[Any]:
        return (_where(present, polyak(average, now, share), average),)

    (heads,) = map_heads(follow, (averaged["heads"],), (now, present), batch.heads)
    return beside | {"heads": heads}
