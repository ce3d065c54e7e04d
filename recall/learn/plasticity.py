"""Whether a network can still learn: dormant units, effective rank and size of its weights.

On a batch of the current task, with h_i the output of unit i of a hidden layer of H units:

    dormant   share of all hidden units with  E|h_i| <= tau 1/H sum_k E|h_k|     (Sokar 2023)
    rank      fewest singular values of the last hidden layer's outputs [rows, H]
              that make up 99 % of the sum of all                                (Kumar 2021)
    weights   norm of the shared layers and the current head

A network that loses plasticity has more and more dormant units, a falling rank and growing
weights. What is measured is the network that acts on the current task, whatever the method makes
of its parameters, and the critics (both, but the first alone for the rank); in full precision, so
that machines agree.

Sokar et al., The Dormant Neuron Phenomenon in Deep RL, 2023. Kumar et al., Implicit
Under-Parameterization Inhibits Data-Efficient Deep RL, 2021.
"""

from collections.abc import Sequence
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from recall.learn.agent import Agent
from recall.learn.clipping import global_norm
from recall.learn.state import LearnerState
from recall.nets.arrays import Array, Metrics, Params
from recall.nets.heads import head_of
from recall.nets.multihead import MultiHead
from recall.replay.batch import Batch

DORMANT_BELOW = 0.025  # tau
SHARE_OF_RANK = 0.99
ROWS = 256  # of the batch: as many as the paper's layers have units, so that all can show


def dormant_share(layers: Sequence[Array]) -> Array:
    """The share of dormant units in the outputs [rows, units] of all hidden layers."""
    dormant, units = jnp.asarray(0), 0
    for outputs in layers:
        activity = jnp.mean(jnp.abs(outputs), axis=0)
        # A product, not a ratio: in a layer that is dead altogether all units are dormant.
        dormant += jnp.sum(activity <= DORMANT_BELOW * jnp.mean(activity))
        units += outputs.shape[1]
    return dormant / units


def effective_rank(features: np.ndarray) -> np.ndarray:
    """[run] how many dimensions the features [run, rows, units] fill; 0 where all are 0.

    In NumPy: an accelerator decomposes such small matrices one by one, slower than the host.
    """
    # Not from the eigenvalues of features^T features: squares lose the small singular values.
    # A failed run's numbers may be none, which NumPy refuses; it is not recorded.
    finite = np.nan_to_num(features, nan=0.0, posinf=0.0, neginf=0.0)
    values = np.linalg.svd(finite, compute_uv=False)
    covered = np.cumsum(values, axis=-1)
    whole = covered[..., -1:]
    ranks: np.ndarray = np.sum(covered < SHARE_OF_RANK * whole, axis=-1) + (whole[..., 0] > 0)
    return ranks


def measure(
    agent: Agent, state: LearnerState, batch: Batch, task: Array
) -> tuple[Metrics, dict[str, Array]]:
    """All of it, for actor (pi) and critics (q) on a batch of `task`; of the ranks the features."""
    trainable, method = state.trainable, agent.method
    actor = method.actor_for_task(state.method_state, trainable.actor, task)
    actor = {"trunk": actor["trunk"], "heads": head_of(actor["heads"], task)}
    critic = trainable.critic
    critics = {"trunk": critic["trunk"], "heads": head_of(critic["heads"], task)}
    state_action = jnp.concatenate([batch.observation, batch.action], axis=-1)
    pi = _hidden(agent.actor, actor, batch.observation)
    q = jax.vmap(lambda critic: _hidden(agent.critic, critic, state_action))(critics)
    measured = {
        "dormant_pi": dormant_share(pi),
        "dormant_q": jnp.mean(jax.vmap(dormant_share)(q)),
        "weight_norm_pi": global_norm(actor),
        "weight_norm_q": global_norm(critics),
    }
    # Decomposing is the dear part: one critic will do.
    return measured, {"rank_pi": pi[-1], "rank_q": q[-1][0]}


def _hidden(network: MultiHead, params: Params, x: Array) -> list[Array]:
    """Outputs of the hidden layers of a network with one head, `params["heads"]`."""
    exact = replace(network, half_inputs=False)
    one_head = {
        "trunk": params["trunk"],
        "heads": jax.tree.map(lambda leaf: leaf[None], params["heads"]),
    }
    return exact.hidden_outputs(one_head, x, 0)
