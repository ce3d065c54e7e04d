"""Remedies for the loss of plasticity, which combine with any method: one chosen by a setting.

With theta the shared layers of a network, theta_0 their initial weights and phi new ones,

    l2_init             adds w |theta - theta_0|^2 to the loss                     (Kumar 2023)
    c_chain             adds w' E (f(x) - f_before(x))^2 to the loss, on other rows, where f_before
                        is the network before its last update                      (Tang 2025)
    redo                recycles dormant units every so many updates               (Sokar 2023)
    continual_backprop  recycles a share of the least useful units                 (Dohare 2024)
    shrink_and_perturb  theta <- a theta + b phi at the start of a task            (Ash 2020)

Only shared layers are changed, because the head of a task is new with it. Units are recycled
(recall.learn.recycling) between two bursts, when the heads of all tasks are at hand.

Kumar et al., Maintaining Plasticity via Regenerative Regularization, 2023. Tang et al., Mitigating
Plasticity Loss in Continual RL by Reducing Churn, 2025. Sokar et al., The Dormant Neuron Phenomenon
in Deep RL, 2023. Dohare et al., Loss of Plasticity in Deep Continual Learning, 2024. Ash and Adams,
On Warm-Starting Neural Network Training, 2020.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from recall.learn.method import Gradients
from recall.learn.recycling import Recycling, recycled, unused_units
from recall.nets.arrays import Array, Metrics, Params
from recall.nets.heads import OldAndNew, trunk_for_each
from recall.replay.batch import Batch

if TYPE_CHECKING:
    from recall.learn.agent import Agent, LearnerState, Trainable
    from recall.learn.sac import Losses, LossInputs

_FRESH = np.uint32(2**32 - 6)  # a branch of the run's random key; recall.learn.fleet has others
_REFERENCE = np.uint32(2**32 - 1)  # a branch of an update's key
_LOSS_DECAY = 0.99


class Networks(NamedTuple):
    """Networks and their scales, as in `Trainable`."""

    actor: Params
    critic: Params
    popart: Params


class Churn(NamedTuple):
    """State of C-CHAIN. Each pair [2] is of actor and critics."""

    losses: Array  # running means of the SAC losses' sizes
    churns: Array  # running means of the churn
    before: "Networks | None" = None  # before the last update; during a turn alone


def init(agent: "Agent", trainable: "Trainable") -> Any:
    """Return the initial state of the chosen remedy, () for those without one."""
    remedy, method = agent.settings.plasticity.remedy, agent.method
    if remedy == "l2_init":
        trunks = {"actor": trainable.actor["trunk"], "critic": trainable.critic["trunk"]}
        return jax.tree.map(jnp.copy, trunks)
    if remedy == "c_chain":
        return Churn(jnp.zeros(2), jnp.zeros(2))
    if remedy == "redo":
        return Recycling(jnp.zeros(2))
    if remedy == "continual_backprop":
        actor, critic = unused_units(agent.actor), unused_units(agent.critic)
        of_each = jax.tree.map(lambda leaf: jnp.zeros((method.critics, *leaf.shape)), critic)
        return Recycling(jnp.zeros(2), actor, of_each)
    return ()


def begin_turn(remedy: Any, trainable: "Trainable") -> Any:
    """Return the remedy's state for a turn, before which nothing counts as the last update."""
    return remedy._replace(before=_networks(trainable)) if isinstance(remedy, Churn) else remedy


def _networks(trainable: "Trainable") -> Networks:
    return Networks(trainable.actor, trainable.critic, trainable.popart)


def end_turn(remedy: Any) -> Any:
    """Return the remedy's state after a turn."""
    return remedy._replace(before=None) if isinstance(remedy, Churn) else remedy


def add_terms(
    inputs: "LossInputs",
    remedy: Any,
    gradients: Gradients,
    losses: "Losses",
    sample: Callable[[Array], Batch],
) -> tuple[Gradients, Any, Metrics]:
    """Return the gradients with those of the remedy's terms, its state, and metrics."""
    chosen = inputs.agent.settings.plasticity.remedy
    if chosen == "l2_init":
        return _pulled_back(inputs, remedy, gradients)
    if chosen == "c_chain":
        bits = jax.random.bits(
            jax.random.fold_in(inputs.noise.key, _REFERENCE), inputs.noise.rows.shape
        )
        return _with_less_churn(inputs, remedy, gradients, losses, sample(bits))
    return gradients, remedy, {}


def _pulled_back(
    inputs: "LossInputs", initial: Any, gradients: Gradients
) -> tuple[Gradients, Any, Metrics]:
    weight, now = inputs.agent.settings.plasticity.l2_init_weight, inputs.trainable
    metrics = {}

    def pulled(name: str, gradient: Params, params: Params, start: Array) -> Params:
        away = params["trunk"] - start
        metrics[f"from_initial_{name}"] = jnp.sqrt(jnp.sum(away**2))
        trunk, pull = gradient["trunk"], 2.0 * weight * away
        if isinstance(trunk, OldAndNew):
            return gradient | {"trunk": trunk._replace(new=trunk.new + pull)}
        return gradient | {"trunk": trunk + pull}

    gradients = gradients._replace(
        actor=pulled("pi", gradients.actor, now.actor, initial["actor"]),
        critic=pulled("q", gradients.critic, now.critic, initial["critic"]),
    )
    return gradients, initial, metrics


def _with_less_churn(
    inputs: "LossInputs", churn: Churn, gradients: Gradients, losses: "Losses", reference: Batch
) -> tuple[Gradients, Any, Metrics]:
    """Weigh the churn so that it is a constant share of the running mean of each loss."""
    now, share = inputs.trainable, inputs.agent.settings.plasticity.c_chain_share
    of_pi, by_pi = jax.value_and_grad(policy_churn)(
        trunk_for_each(now.actor), inputs, churn.before, reference
    )
    of_q, by_q = jax.value_and_grad(value_churn)(
        trunk_for_each(now.critic), inputs, churn.before, reference
    )
    found = jnp.stack([losses.actor, losses.critic])
    size = _LOSS_DECAY * churn.losses + (1.0 - _LOSS_DECAY) * jnp.abs(found)
    churns = _LOSS_DECAY * churn.churns + (1.0 - _LOSS_DECAY) * jnp.stack([of_pi, of_q])
    weights = share * size / (churns + 1e-8)

    def add(gradient: Params, more: Params, weight: Array) -> Params:
        return jax.tree.map(lambda one, other: one + weight * other, gradient, more)

    gradients = gradients._replace(
        actor=add(gradients.actor, by_pi, weights[0]),
        critic=add(gradients.critic, by_q, weights[1]),
    )
    return gradients, Churn(size, churns, _networks(now)), {"churn_pi": of_pi, "churn_q": of_q}


def policy_churn(actor: Params, inputs: "LossInputs", before: Networks, reference: Batch) -> Array:
    """Return how far the last update moved the policy's means on the reference rows, squared."""
    agent, method = inputs.agent, inputs.agent.method

    def means(actor: Params) -> Array:
        acting = method.actor_for_training(inputs.method_state, actor, inputs.noise.key)
        return agent.policy(acting, reference.observation, reference.layout).mean

    return jnp.mean((means(actor) - means(before.actor)) ** 2)


def value_churn(critic: Params, inputs: "LossInputs", before: Networks, reference: Batch) -> Array:
    """Return how far the last update moved the values of the reference rows, squared.

    Values are compared at the present scale. The critics' churns are added, like their losses.
    """
    agent, head = inputs.agent, reference.layout.head_of_row
    mean, sigma = agent.scale(inputs.trainable.popart["heads"]).of_rows(head)
    old_mean, old_sigma = agent.scale(before.popart["heads"]).of_rows(head)
    rows = reference.observation, reference.action, reference.layout
    old = (old_sigma * agent.q(before.critic, *rows) + old_mean - mean) / sigma
    return jnp.sum(jnp.mean((agent.q(critic, *rows) - old) ** 2, axis=1))


def start_task(agent: "Agent", state: "LearnerState", task: Array) -> "LearnerState":
    """Shrink and perturb all shared layers at the start of every task but the first."""
    chosen = agent.settings.plasticity
    if chosen.remedy != "shrink_and_perturb":
        return state
    old = state.trainable
    of_actor, of_critic = jax.random.split(_key(state, task))
    new_actor, new_critic = agent.actor.init_trunk(of_actor), agent.init_critic_trunks(of_critic)

    def mixed(params: Params, fresh: Array) -> Params:
        trunk = params["trunk"]
        mixture = chosen.shrink_and_perturb_kept * trunk + chosen.shrink_and_perturb_fresh * fresh
        return params | {"trunk": jnp.where(task > 0, mixture, trunk)}

    return state._replace(
        trainable=old._replace(
            actor=mixed(old.actor, new_actor),
            averaged=old.averaged and mixed(old.averaged, new_actor),
            critic=mixed(old.critic, new_critic),
            target=mixed(old.target, new_critic),
        )
    )


def _key(state: "LearnerState", number: Array) -> Array:
    return jax.random.fold_in(jax.random.fold_in(state.key, _FRESH), number)


def end_burst(
    agent: "Agent",
    state: "LearnerState",
    sample: Callable[[Array], Batch],
    task: Array,
    first_update: Array,
    updates: int,
) -> tuple["LearnerState", Metrics]:
    """Recycle units after the burst of `updates`; return how many so far, if any may be."""
    chosen, number = agent.settings.plasticity, first_update + updates

    def recycle(state: "LearnerState") -> "LearnerState":
        key_batch, key = jax.random.split(_key(state, number))
        return recycled(agent, state, sample(key_batch), task, updates, key)

    if not isinstance(state.remedy, Recycling):
        return state, {}
    if chosen.remedy == "continual_backprop":
        state = recycle(state)
    else:
        due = number // chosen.redo_every > first_update // chosen.redo_every
        state = jax.lax.cond(due, recycle, lambda state: state, state)
    of_actor, of_critic = state.remedy.counts
    return state, {"recycled_pi": of_actor, "recycled_q": of_critic}
