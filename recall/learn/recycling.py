"""Recycling of units: those that are dormant, or the least useful of those that are mature.

With h_i the output of unit i of a layer of H units, and w_ik its outgoing weights,

    dormant (ReDo)              E|h_i| <= tau 1/H sum_k E|h_k|
    utility (continual          u_i <- d u_i + (1 - d) E|h_i| sum_k |w_ik|
      backpropagation)

A recycled unit has new incoming weights and no outgoing ones, neither to the next layer nor to any
head, and Adam's moments of both are 0.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from recall.nets.arrays import Array, Params
from recall.nets.multihead import LAST_LAYER, MultiHead
from recall.nets.optimiser import Moments
from recall.replay.batch import Batch
from recall.settings import PlasticitySettings

if TYPE_CHECKING:
    from recall.learn.agent import Agent, LearnerState

_CRITICS = {"trunk": 0, "heads": 1}  # the axes of the critics


class Units(NamedTuple):
    """What continual backprop knows of the units [width] of a layer."""

    utility: Array
    age: Array  # updates since they were recycled
    due: Array  # [] how many are to be recycled, with a fraction


class Recycling(NamedTuple):
    """State of the remedies that recycle units."""

    counts: Array  # [2] units recycled so far, of the actor and of a critic on average
    actor: tuple[Units, ...] = ()  # by layer, for continual backprop alone
    critic: tuple[Units, ...] = ()


def unused_units(network: MultiHead) -> tuple[Units, ...]:
    """Return what is known at the start of the units of every shared layer."""
    widths = network.hidden[: network.shared_layers]
    return tuple(Units(jnp.zeros(width), jnp.zeros(width), jnp.zeros(())) for width in widths)


def recycled(
    agent: "Agent", state: "LearnerState", batch: Batch, task: Array, updates: int, key: Array
) -> "LearnerState":
    """Return the state after recycling units of actor and critics."""
    old, before = state.trainable, state.remedy
    key_actor, key_critic = jax.random.split(key)

    def one(
        network: MultiHead, x: Array, params: Params, moments: Any, units: Any, fresh: Array
    ) -> tuple[Params, Any, Any, Array]:
        outputs = network.hidden_outputs(params, x, 0)[: network.shared_layers]
        activities = [jnp.mean(jnp.abs(each.astype(jnp.float32)), axis=0) for each in outputs]
        masks, units = _choose(agent, network, params, activities, units, task, updates)
        params = with_new_units(network, params, masks, fresh)
        none = jnp.zeros_like(fresh)
        moments = tuple(with_new_units(network, each, masks, none) for each in moments)
        return params, moments, units, sum((jnp.sum(mask) for mask in masks), jnp.zeros(()))

    fresh = agent.actor.init_trunk(key_actor)
    moments = old.actor_moments[1:]  # the first and second
    actor, moments, of_actor, count = one(
        agent.actor, batch.observation, old.actor, moments, before.actor, fresh
    )
    state_action = jnp.concatenate([batch.observation, batch.action], axis=-1)
    axes = (_CRITICS, (_CRITICS, _CRITICS), 0, 0)
    critic, critic_moments, of_critic, counts = jax.vmap(
        lambda *each: one(agent.critic, state_action, *each), in_axes=axes, out_axes=axes
    )(old.critic, old.critic_moments[1:], before.critic, agent.init_critic_trunks(key_critic))
    trainable = old._replace(
        actor=actor,
        critic=critic,
        actor_moments=Moments(old.actor_moments.steps, *moments),
        critic_moments=Moments(old.critic_moments.steps, *critic_moments),
    )
    counts = before.counts + jnp.stack([count, jnp.mean(counts)])
    return state._replace(trainable=trainable, remedy=Recycling(counts, of_actor, of_critic))


def _choose(
    agent: "Agent",
    network: MultiHead,
    params: Params,
    activities: Sequence[Array],
    units: Sequence[Units],
    task: Array,
    updates: int,
) -> tuple[list[Array], Any]:
    """Return which units [width] of every layer are recycled, and what is known of the units."""
    chosen = agent.settings.plasticity
    if chosen.remedy == "redo":
        return [dormant(activity, chosen.redo_tau) for activity in activities], units
    found = [
        least_useful(chosen, activity, weight, layer, updates)
        for activity, weight, layer in zip(
            activities, outgoing(network, params, task), units, strict=True
        )
    ]
    return [mask for mask, _ in found], tuple(layer for _, layer in found)


def least_useful(
    chosen: PlasticitySettings, activity: Array, weight: Array, units: Units, updates: int
) -> tuple[Array, Units]:
    """Return which units [width] of a layer are due after more updates, and what is known of all.

    `weight` is the sum of the sizes of a unit's outgoing weights.
    """
    decay = chosen.continual_backprop_decay**updates
    utility = decay * units.utility + (1.0 - decay) * activity * weight
    age = units.age + updates
    mature = age > chosen.continual_backprop_maturity
    due = units.due + chosen.continual_backprop_rate * updates * jnp.sum(mature)
    order = jnp.argsort(jnp.where(mature, utility, jnp.inf))
    rank = jnp.zeros_like(order).at[order].set(jnp.arange(order.shape[0]))
    mask = mature & (rank < jnp.floor(due))
    after = Units(jnp.where(mask, 0.0, utility), jnp.where(mask, 0.0, age), due - jnp.sum(mask))
    return mask, after


def dormant(activity: Array, tau: float | Array) -> Array:
    """Return which units [width] give at most tau of their layer's mean activity E|h|."""
    # A product, not a ratio, so that all units of a completely dead layer are dormant.
    return activity <= tau * jnp.mean(activity)


def outgoing(network: MultiHead, params: Params, task: Array) -> list[Array]:
    """Return the sum of each unit's outgoing weights' sizes [width] for every shared layer.

    For the last one these are the weights to the heads of the tasks so far.
    """
    layers, name = network.trunk_tree(params["trunk"]), _first_of_head(params)
    hidden = [layers[_name(layer)]["kernel"] for layer in range(1, network.shared_layers)]
    to_heads = jnp.sum(jnp.abs(params["heads"][name]["kernel"]), axis=-1)  # [task, width]
    seen = jnp.arange(len(to_heads)) <= task
    return [*(jnp.sum(jnp.abs(kernel), axis=1) for kernel in hidden), seen @ to_heads][
        : network.shared_layers
    ]


def with_new_units(
    network: MultiHead, params: Params, masks: Sequence[Array], fresh: Array
) -> Params:
    """Return a network whose masked units have their weights of `fresh` and no outgoing ones."""
    layers, heads = dict(network.trunk_tree(params["trunk"])), dict(params["heads"])
    new = network.trunk_tree(fresh)
    for layer, mask in reversed(list(enumerate(masks))):
        for name in (_name(layer), "norm")[: 2 if layer == 0 else 1]:
            layers[name] = jax.tree.map(
                lambda now, then, mask=mask: jnp.where(mask, then, now), layers[name], new[name]
            )
        last = layer == len(masks) - 1
        after, name = (heads, _first_of_head(params)) if last else (layers, _name(layer + 1))
        kernel = jnp.where(mask[:, None], 0.0, after[name]["kernel"])
        after[name] = after[name] | {"kernel": kernel}
    return params | {"trunk": ravel_pytree(layers)[0], "heads": heads}


def _name(layer: int) -> str:
    return f"hidden_{layer:02}"


def _first_of_head(params: Params) -> str:
    return _name(0) if _name(0) in params["heads"] else LAST_LAYER
