"""Measures of plasticity: dormant units, effective rank and weight norms of the networks.

On a batch of the current task, with h_i the output of unit i of a hidden layer of H units:

    dormant   share of all hidden units with  E|h_i| <= tau 1/H sum_k E|h_k|     (Sokar 2023)
    rank      fewest singular values of the last hidden layer's outputs [rows, H]
              that make up 99 % of the sum of all                                (Kumar 2021)
    weights   norm of the shared layers and the current head

A network that loses plasticity has more and more dormant units, a falling rank and growing
weights. The networks measured are the actor on the current task, after whatever the method does to
its parameters, and both critics (only the first for the rank), in full precision, so that machines
agree.

Sokar et al., The Dormant Neuron Phenomenon in Deep RL, 2023. Kumar et al., Implicit
Under-Parameterization Inhibits Data-Efficient Deep RL, 2021.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from threadpoolctl import ThreadpoolController

from recall.learn.agent import Agent, LearnerState
from recall.learn.recycling import dormant
from recall.nets.arrays import Array, Metrics, Params
from recall.nets.heads import head_of
from recall.nets.optimiser import global_norm
from recall.replay.batch import Batch

DORMANT_BELOW = 0.025  # tau
SHARE_OF_RANK = 0.99
ROWS = 256  # rows of the batch: as many as the paper's layers have units, for a full rank


class Plasticity(NamedTuple):
    """Measures of a fleet's networks, [run] each, that a device may still be computing."""

    measures: Metrics
    features: dict[str, Array]  # [run, rows, units], from which the host computes the ranks

    def with_ranks(self) -> dict[str, Any]:
        """Wait for the device, compute the ranks and return all measures by name."""
        ranks = {name: effective_rank(np.asarray(of)) for name, of in self.features.items()}
        return self.measures | ranks


def dormant_share(layers: Sequence[Array]) -> Array:
    """Return the share of dormant units in the outputs [rows, units] of all hidden layers."""
    found, units = jnp.asarray(0), 0
    for outputs in layers:
        activity = jnp.mean(jnp.abs(outputs), axis=0)
        found += jnp.sum(dormant(activity, DORMANT_BELOW))
        units += outputs.shape[1]
    return found / units


@cache
def _blas() -> ThreadpoolController:
    """Return the control of the threads with which NumPy decomposes matrices.

    The matrices are too small for several threads, and while workers collect on all cores, threads
    that wait for each other take several times the processor time of one.
    """
    return ThreadpoolController().select(user_api="blas")


def effective_rank(features: np.ndarray) -> np.ndarray:
    """Return the effective rank [run] of features [run, rows, units]; 0 if all are 0.

    Computed in NumPy, because accelerators decompose such small matrices one by one.
    """
    # Eigenvalues of features^T features would lose the small singular values. Non-finite numbers
    # of failed runs, which are not recorded, would make NumPy raise.
    finite = np.nan_to_num(features, nan=0.0, posinf=0.0, neginf=0.0)
    with _blas().limit(limits=1):
        values = np.linalg.svd(finite, compute_uv=False)
    covered = np.cumsum(values, axis=-1)
    whole = covered[..., -1:]
    ranks: np.ndarray = np.sum(covered < SHARE_OF_RANK * whole, axis=-1) + (whole[..., 0] > 0)
    return ranks


def measure(agent: Agent, state: LearnerState, batch: Batch, task: Array) -> Plasticity:
    """Return the measures of actor (pi) and critics (q) of one run on a batch of `task`."""
    actor = agent.method.actor_for_task(state.method_state, state.trainable.actor, task)
    critic = state.trainable.critic
    of_actor, of_critic = (replace(each, half_inputs=False) for each in (agent.actor, agent.critic))
    state_action = jnp.concatenate([batch.observation, batch.action], axis=-1)
    pi = of_actor.hidden_outputs(actor, batch.observation, task)
    q = jax.vmap(
        lambda one: of_critic.hidden_outputs(one, state_action, task),
        in_axes=({"trunk": 0, "heads": 1},),
    )(critic)

    def norm_of(params: Params) -> Array:
        own = {"trunk": params["trunk"], "heads": head_of(params["heads"], task)}
        return global_norm(own)

    measured = {
        "dormant_pi": dormant_share(pi),
        "dormant_q": jnp.mean(jax.vmap(dormant_share)(q)),
        "weight_norm_pi": norm_of(actor),
        "weight_norm_q": norm_of(critic),
    }
    # The decomposition dominates the cost, so one critic is enough.
    return Plasticity(measured, {"rank_pi": pi[-1], "rank_q": q[-1][0]})
