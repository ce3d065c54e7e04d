"""Presets: named sets of changes to the defaults."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from recall.errors import UnknownNameError


@dataclass(frozen=True)
class Preset:
    """A named set of changes to the defaults."""

    summary: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    every_method: Mapping[str, Any] = field(default_factory=dict)
    methods: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


# What the paper and its authors' code have in common, where the defaults differ.
_PUBLISHED = {
    "bias_corrected": False,
    "initial_log_alpha": 1.0,
    "bound_targets": False,
    "noise_colour": 0.0,
    "n_step": 1,
    "discount": 0.99,
    "random_tails": 0.0,
    "policy_lag": 0,
}
_PUBLISHED_RECALL = {"distil_critics": False, "clip_apart": False, "copies": "best_head"}
_PUBLISHED_CLONEX = {"clip_apart": False, "copies": "best_head"}
# Below Adam's epsilon for most weights, so that they hardly move (docs/methods/packnet.md).
_PUBLISHED_PACKNET = {"clip_norm": 2e-5}

PRESETS = {
    "default": Preset(
        "The paper's method, with the changes that it needs to learn the robot tasks."
    ),
    "paper": Preset(
        "As in the paper, where the default differs.",
        settings={"activation": "relu", **_PUBLISHED},
        every_method={"average_actor": None},
        methods={
            "recall": _PUBLISHED_RECALL,
            "clonex": _PUBLISHED_CLONEX,
            "packnet": _PUBLISHED_PACKNET,
        },
    ),
    "authors": Preset(
        "As in the authors' code, as far as there are settings for it.",
        settings={
            "activation": "leaky_relu",
            "popart.statistics_of": "normalised",
            **_PUBLISHED,
        },
        every_method={"average_actor": None},
        methods={
            "recall": {"old_weight": "per_task", **_PUBLISHED_RECALL},
            "clonex": _PUBLISHED_CLONEX,
            "packnet": _PUBLISHED_PACKNET,
        },
    ),
    "quick": Preset(
        "Small networks and few steps, for pointworld and for trying things out.",
        settings={
            "hidden": (64, 64),
            "head_layers": 1,
            "initial_log_alpha": -2.0,
            "discount": 0.99,
            "steps_per_task": 3_000,
            "update_after": 100,
            "random_steps": 500,
            "evaluate_every": 500,
            "record_every": 500,
        },
        every_method={"batch_size": 64, "old_batch_size": 64, "average_actor": 0.01},
        methods={
            "perfect_memory": {"batch_size": 128},
            "packnet": {"retraining_updates": 600},
        },
    ),
    "laptop": Preset(
        "Smaller networks, batches and budgets: easy robot tasks in minutes on two cores.",
        settings={
            "hidden": (128, 128, 128),
            "head_layers": 2,
            "steps_per_task": 35_000,
            "random_steps": 4_000,
            "evaluate_every": 10_000,
        },
        every_method={"batch_size": 64, "old_batch_size": 64, "average_actor": 0.005},
        methods={
            "perfect_memory": {"batch_size": 128},
            "packnet": {"retraining_updates": 3_500},
        },
    ),
}


def preset_named(name: str) -> Preset:
    """Return the preset called `name`."""
    if not isinstance(name, str) or name not in PRESETS:
        raise UnknownNameError("preset", name, PRESETS)
    return PRESETS[name]
