"""Studies beyond the paper's figures: cost, the authors' code, memory, length, starts."""

from recall.config.presets import PRESETS
from recall.studies.declared.comparisons import CW3, SIX_METHODS
from recall.studies.study import Study, Variant, methods
from recall.worlds.sequences import NUMBERED_TASKS

COST = Study(
    name="cost",
    question="What does each method cost compared with plain SAC, in computation and in storage?",
    variants=SIX_METHODS,
    sequences=("cw3-1",),
    tables=("computation", "storage", "updates"),
    # Speed can be measured without a trained policy, in one run of each method.
    changes={"steps_per_task": 50_000, "evaluate_every": 50_000},
    seeds=1,
    transfer=False,
)

# Variants from the paper's text to its authors' code: one change at a time, as far as a setting
# exists (docs/fidelity.md), then all changes together; and one choice of ours.
_PRESET = PRESETS["paper"]
_PAPER = {**_PRESET.settings, **_PRESET.every_method, **_PRESET.methods["recall"]}

FIDELITY = Study(
    name="fidelity",
    question="What is each difference between the paper and its authors' code worth?",
    variants=(
        Variant("recall", "paper", _PAPER),
        Variant(
            "recall", "statistics-of-normalised", {**_PAPER, "popart.statistics_of": "normalised"}
        ),
        Variant("recall", "leaky-relu", {**_PAPER, "activation": "leaky_relu"}),
        Variant("recall", "old-half-per-task", {**_PAPER, "old_weight": "per_task"}),
        Variant("recall", "kl-summed", {**_PAPER, "distillation_kl": "sum"}),
        Variant("recall", "no-clip", {**_PAPER, "clip_norm": None}),
        Variant(
            "recall",
            "as-in-the-code-of-pairs",
            {
                **_PAPER,
                "distillation_weight": 0.01,
                "critic_heads": "shallow",
                "best_return": False,
            },
        ),
        Variant(
            "recall",
            "authors",
            {
                **_PAPER,
                "popart.statistics_of": "normalised",
                "activation": "leaky_relu",
                "old_weight": "per_task",
            },
        ),
        Variant("recall", "bias-corrected", {**_PAPER, "bias_corrected": True}),
    ),
    sequences=CW3.sequences,
    tables=("variants",),
    figures=("average_success", "seeds"),
)

MEMORY = Study(
    name="memory",
    question="How much of the replay does RECALL need?",
    variants=(
        Variant("recall", "memory=1"),
        *(
            Variant("recall", f"memory={share:g}", shares={"memory_per_task": share})
            for share in (0.3, 0.1, 0.03, 0.01)
        ),
    ),
    sequences=CW3.sequences,
    tables=("variants",),
    figures=("average_success", "seeds"),
)

SCALING = Study(
    name="scaling",
    question="How do time and success change from two tasks to twenty?",
    variants=methods("fine_tuning", "perfect_memory", "recall"),
    sequences=(
        ",".join(NUMBERED_TASKS[:2]),
        ",".join(NUMBERED_TASKS[:5]),
        "cw10",
        "cw20",
    ),
    tables=("scaling", "cw10"),
    figures=("scaling",),
)

# Second tasks that plain SAC rarely learns from scratch (docs/results.md), and two that it does.
START = Study(
    name="start",
    question="How should a new task start: from an old policy or at random, and how noisily?",
    variants=(
        Variant("recall", "better-policy"),
        Variant("recall", "best-head", {"copies": "best_head"}),
        Variant("recall", "random", {"best_return": False}),
        Variant("recall", "white", {"noise_colour": 0.0}),
        Variant("recall", "no-tails", {"random_tails": 0.0}),
    ),
    sequences=(
        "stick-pull,push-back",
        "faucet-close,push-back",
        "faucet-close,shelf-place",
        "push-wall,shelf-place",
        "hammer,window-close",
        "window-close,peg-unplug-side",
    ),
    tables=("variants",),
    figures=("current_task", "average_success", "seeds"),
)
