"""All studies, declared as data. A new study is one entry here and its name in `STUDIES`.

Nothing here trains, and no other code knows what a particular study compares.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from recall.config.presets import PRESETS
from recall.errors import UnknownNameError
from recall.methods import OURS
from recall.worlds.sequences import NUMBERED_TASKS, TRIPLETS

# As in the paper, where every experiment has five seeds.
SEEDS = 5


@dataclass(frozen=True)
class Variant:
    """One side of a comparison: a method, and the settings that differ in this study."""

    method: str
    name: str = ""
    """Name in folders and tables; the method's own name if empty."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Changed settings by name, of the method or any others."""
    shares: Mapping[str, float] = field(default_factory=dict)
    """Settings that are given as a fraction of the steps per task, so that they scale with it."""

    @property
    def title(self) -> str:
        """Return the name of the variant, or of its method if it has none."""
        return self.name or self.method


@dataclass(frozen=True)
class Study:
    """A study: every variant on every sequence with every seed."""

    name: str
    question: str
    variants: tuple[Variant, ...]
    sequences: tuple[str, ...]
    """Names of sequences, or tasks joined by commas. Lengths may differ."""
    tables: tuple[str, ...] = ("variants",)
    """Prefixes of the names of the `recall report` tables that give the answer."""
    figures: tuple[str, ...] = ()
    """Kinds of `recall report` figures that show the answer."""
    scale: float = 1.0
    """Steps per task and intervals of the whole study, as a factor like that of `--scale`."""
    seeds: int = SEEDS
    transfer: bool = True
    """Whether the answer includes forward transfer, which also needs the study `reference`."""


def methods(*names: str) -> tuple[Variant, ...]:
    """Return variants of the named methods without changes."""
    return tuple(Variant(name) for name in names)


# Comparisons of RECALL with other methods: the paper's sections 5.2, 5.3 and 5.5.

# In the order of the paper's tables.
SIX_METHODS = methods("fine_tuning", "ewc", "packnet", "clonex", "perfect_memory", "recall")

_NUMBERS = range(len(NUMBERED_TASKS))
_TRIPLETS = range(1, 1 + len(TRIPLETS))

REFERENCE = Study(
    name="reference",
    question="How well is each task learned alone, from scratch?",
    variants=methods("fine_tuning"),
    sequences=NUMBERED_TASKS,
    tables=("single-tasks",),
    figures=("task_curves",),
    transfer=False,
)

PAIRS = Study(
    name="pairs",
    question="Does replay leave room to learn a second task, and does the first one stay?",
    variants=methods("perfect_memory", "recall"),
    sequences=tuple(f"pair-{i}-{j}" for i in _NUMBERS for j in _NUMBERS),
    tables=("pairs", "pairs-counts"),
    figures=("pair_matrices", "current_task", "training", "q_scale"),
    transfer=False,
)


def _best_method(name: str, where: str, sequences: tuple[str, ...], *figures: str) -> Study:
    """Return the comparison of the six methods on sequences of one length."""
    return Study(
        name=name,
        question=f"Which method does best {where}?",
        variants=SIX_METHODS,
        sequences=sequences,
        tables=(name,),
        figures=("average_success", "current_task", "task_curves", *figures, "seeds"),
    )


CW3 = _best_method("cw3", "on the eight triplets of tasks", tuple(f"cw3-{n}" for n in _TRIPLETS))
CW6 = _best_method(
    "cw6", "when the tasks of a triplet come back", tuple(f"cw6-{n}" for n in _TRIPLETS)
)
CW10 = _best_method("cw10", "on ten tasks in a row", ("cw10",), "transfer_areas")
CW20 = _best_method(
    "cw20", "on twenty tasks, the ten tasks repeated once", ("cw20",), "transfer_areas"
)

# RECALL's parts, and why perfect memory fails: section 5.4 and appendix C.

ABLATION = Study(
    name="ablation",
    question="What do target normalisation (TN) and policy distillation (PD) each contribute?",
    variants=tuple(
        Variant("recall", name, {"normalise_targets": normalise, "distil": distil})
        for name, normalise, distil in (
            ("none", False, False),
            ("tn", True, False),
            ("pd", False, True),
            ("tn+pd", True, True),
        )
    ),
    sequences=CW6.sequences,
    figures=("average_success",),
)

LAMBDA = Study(
    name="lambda",
    question="How much should old policies be distilled?",
    variants=tuple(
        Variant("recall", f"lambda={weight:g}", {"distillation_weight": weight})
        for weight in (0.01, 0.1, 1.0, 10.0, 100.0)
    ),
    sequences=("cw6-1",),
    figures=("average_success",),
)

# The paper does not say which pair its figure of poor plasticity shows, and the authors' code draws
# that figure from this one: handle-press-side, then hammer.
EXAMPLE_PAIR = "pair-5-0"

SHARING = Study(
    name="sharing",
    question="Is it the shared actor or the shared critic that keeps a second task from starting?",
    variants=tuple(
        Variant("perfect_memory", f"{actor}-actor+{critic}-critic", {**actors, **critics})
        for critic, critics in (("shared", {}), ("unshared", {"critic_heads": "separate"}))
        for actor, actors in (("shared", {}), ("unshared", {"actor_heads": "separate"}))
    ),
    sequences=(EXAMPLE_PAIR,),
    tables=("variants", f"{EXAMPLE_PAIR}-tasks"),
    figures=("current_task", "training", "q_scale"),
    transfer=False,
)

# The pairs in which the paper saw perfect memory forget more than 0.1 of the first task: 13 is
# pair-1-3.
FORGOTTEN_PAIRS = (13, 14, 22, 23, 28, 36, 43, 71, 79, 80, 82, 84, 86)

REPLAY_MODE = Study(
    name="replay-mode",
    question="Is it learning offline from stored experience that makes old tasks decay?",
    variants=(
        Variant("perfect_memory", "offline"),
        Variant("perfect_memory", "online", {"replay_mode": "online"}),
    ),
    sequences=tuple(f"pair-{pair // 10}-{pair % 10}" for pair in FORGOTTEN_PAIRS),
    figures=("task_curves",),
    transfer=False,
)

# Beyond the paper's figures: the authors' code, memory, starts.

# Variants from the paper's text to its authors' code: one change at a time, as far as a setting
# exists (docs/fidelity.md), then all changes together; and one choice of ours.
_PRESET = PRESETS["paper"]
_PAPER = {**_PRESET.settings, **_PRESET.every_method, **_PRESET.methods["recall"]}

_CHANGES: dict[str, dict[str, Any]] = {
    "paper": {},
    "statistics-of-normalised": {"popart.statistics_of": "normalised"},
    "leaky-relu": {"activation": "leaky_relu"},
    "old-half-per-task": {"old_weight": "per_task"},
    "kl-summed": {"distillation_kl": "sum"},
    "no-clip": {"clip_norm": None},
    "as-in-the-code-of-pairs": {
        "distillation_weight": 0.01,
        "critic_heads": "shallow",
        "best_return": False,
    },
    "authors": {
        "popart.statistics_of": "normalised",
        "activation": "leaky_relu",
        "old_weight": "per_task",
    },
    "bias-corrected": {"bias_corrected": True},
}

FIDELITY = Study(
    name="fidelity",
    question="What is each difference between the paper and its authors' code worth?",
    variants=tuple(Variant("recall", name, _PAPER | own) for name, own in _CHANGES.items()),
    sequences=CW3.sequences,
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
    figures=("average_success", "seeds"),
)

# Second tasks that plain SAC rarely learns from scratch, and two that it does.
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
    figures=("current_task", "average_success", "seeds"),
)

# All methods, at a tenth of the paper's steps (docs/studies.md).

METHODS = Study(
    name="methods",
    question="How do all methods of the package compare on the eight triplets of tasks?",
    variants=methods(*OURS),
    sequences=CW3.sequences,
    tables=("cw3",),
    figures=("average_success", "current_task", "seeds"),
    scale=0.1,
    seeds=1,
)

PROTOCOLS = Study(
    name="protocols",
    question="How much does the reward alone change the order of the methods?",
    variants=tuple(
        Variant(name, f"{name}-{reward}", {"reward": reward})
        for name in OURS
        for reward in ("v1", "v2")
    ),
    sequences=CW3.sequences,
    tables=("cw3-rewards", "cw3"),
    figures=("average_success", "seeds"),
    scale=0.1,
    seeds=1,
    transfer=False,
)

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        *(REFERENCE, PAIRS, CW3, CW6, CW10, CW20),
        *(ABLATION, LAMBDA, SHARING, REPLAY_MODE),
        *(FIDELITY, MEMORY, START, METHODS, PROTOCOLS),
    )
}


def study_named(name: str) -> Study:
    """Return the study called `name`."""
    if name not in STUDIES:
        raise UnknownNameError(
            "study", name, STUDIES, "`recall list studies` shows the question of each."
        )
    return STUDIES[name]
