"""Studies of RECALL's parts and of why perfect memory fails: section 5.4 and appendix C."""

from recall.studies.declared.comparisons import CW6
from recall.studies.study import Study, Variant

ABLATION = Study(
    name="ablation",
    question="What do target normalisation (TN) and policy distillation (PD) each contribute?",
    variants=(
        Variant("recall", "none", {"normalise_targets": False, "distil": False}),
        Variant("recall", "tn", {"normalise_targets": True, "distil": False}),
        Variant("recall", "pd", {"normalise_targets": False, "distil": True}),
        Variant("recall", "tn+pd", {"normalise_targets": True, "distil": True}),
    ),
    sequences=CW6.sequences,
    tables=("variants",),
    figures=("ablation",),
)

LAMBDA = Study(
    name="lambda",
    question="How much should old policies be distilled?",
    variants=tuple(
        Variant("recall", f"lambda={weight:g}", {"distillation_weight": weight})
        for weight in (0.01, 0.1, 1.0, 10.0, 100.0)
    ),
    sequences=("cw6-1",),
    tables=("lambda",),
    figures=("average_success",),
)

# The paper does not say which pair its figure of poor plasticity shows, and the authors' code draws
# that figure from this one: handle-press-side, then hammer.
EXAMPLE_PAIR = "pair-5-0"

SHARING = Study(
    name="sharing",
    question="Is it the shared actor or the shared critic that keeps a second task from starting?",
    variants=(
        Variant("perfect_memory", "shared-actor+shared-critic"),
        Variant("perfect_memory", "unshared-actor+shared-critic", {"actor_heads": "separate"}),
        Variant("perfect_memory", "shared-actor+unshared-critic", {"critic_heads": "separate"}),
        Variant(
            "perfect_memory",
            "unshared-actor+unshared-critic",
            {"actor_heads": "separate", "critic_heads": "separate"},
        ),
    ),
    sequences=(EXAMPLE_PAIR,),
    tables=("sharing",),
    figures=("current_task", "task_switch", "q_scale"),
    transfer=False,
)

# The pairs in which the paper saw perfect memory forget more than 0.1 of the first task.
FORGOTTEN_PAIRS = (
    (1, 3),
    (1, 4),
    (2, 2),
    (2, 3),
    (2, 8),
    (3, 6),
    (4, 3),
    (7, 1),
    (7, 9),
    (8, 0),
    (8, 2),
    (8, 4),
    (8, 6),
)

REPLAY_MODE = Study(
    name="replay-mode",
    question="Is it learning offline from stored experience that makes old tasks decay?",
    variants=(
        Variant("perfect_memory", "offline"),
        Variant("perfect_memory", "online", {"replay_mode": "online"}),
    ),
    sequences=tuple(f"pair-{first}-{second}" for first, second in FORGOTTEN_PAIRS),
    tables=("replay-mode",),
    figures=("task_curves",),
    transfer=False,
)
