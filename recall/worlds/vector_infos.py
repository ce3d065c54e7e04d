"""The infos of a vector environment, in Gymnasium's form: an array and a mask for each key."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from recall.worlds.env import step_info
from recall.worlds.simulator import Array
from recall.worlds.slots import Board


def reset_infos(board: Board, slots: Array) -> dict[str, Any]:
    """Return the infos of a reset of the `slots` [slots] that are True."""
    none = np.zeros(len(slots), bool)
    return _marked(step_info(none, none, none, dict.fromkeys(board.criteria, none)), slots)


def step_infos(board: Board) -> dict[str, Any]:
    """Return the infos of a step, the same keys in every step."""
    return _marked(_flags(board), np.ones(len(board.success), bool))


def final_infos(board: Board, ended: Array, dtype: Any) -> dict[str, Any]:
    """Return the entries about the slots whose episode has `ended` and whose next one began."""
    observations = np.full(len(ended), None, object)
    for slot in np.flatnonzero(ended):
        observations[slot] = board.final_observation[slot].astype(dtype)
    return {
        "final_obs": observations,
        "_final_obs": ended,
        "final_info": _marked(_flags(board), ended),
        "_final_info": ended.copy(),
    }


def _flags(board: Board) -> dict[str, Array]:
    return step_info(board.success, board.episode_success, board.diverged, board.criteria)


def _marked(flags: Mapping[str, Array], mask: Array) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for key, flag in flags.items():
        told |= {key: flag & mask, f"_{key}": mask.copy()}
    return told
