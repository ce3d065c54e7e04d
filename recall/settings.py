"""Every setting and its default, once. The command line is derived from these classes."""

from dataclasses import dataclass
from typing import Literal

RewardName = Literal["v1", "v2"]
ObservationName = Literal["classic", "full"]


@dataclass(frozen=True)
class WorldSettings:
    """What the tasks show and pay."""

    reward: RewardName = "v1"
    """Continual World's reward: v1 is the classic one, -1 to 2200 a step; v2 is 0 to 10."""
    observation: ObservationName = "classic"
    """Continual World's observation: classic has 12 numbers, full has Meta-World's 39."""
    horizon_steps: int | None = None
    """Steps per episode; None takes the world's own (200 in Continual World)."""


@dataclass(frozen=True)
class NetworkSettings:
    """Shapes of actor and critics; which layers tasks share is the method's choice."""

    hidden: tuple[int, ...] = (256, 256, 256, 256)
    """Width of each hidden layer."""
    activation: Literal["relu", "leaky_relu"] = "leaky_relu"
    """After every hidden layer but the first, which has LayerNorm and tanh. Leaky ReLU has a slope
    of 0.2 below zero; with plain ReLU networks die on the robots (docs/learning.md)."""
    critic_norm: Literal["first", "every"] = "first"
    """Which hidden layers of the critics have LayerNorm: the first alone, or every one."""
    head_layers: int = 3
    """Hidden layers of a deep head."""


@dataclass(frozen=True)
class PopArtSettings:
    """How the statistics of normalised targets move."""

    step_size: float = 3e-4
    """The paper's beta."""
    sigma_bounds: tuple[float, float] = (1e-4, 1e6)
    """Smallest and largest scale."""
    bias_corrected: bool = True
    """Divide the step by 1 - (1 - beta)^t, so that a head's first batch of targets sets its scale,
    for its first loss too. Not in the paper: without it three of five first tasks did not start
    (docs/learning.md)."""
    statistics_of: Literal["raw", "normalised"] = "raw"
    """What the statistics follow: raw targets (the paper) or normalised ones (its code)."""
    copy_statistics: bool = False
    """Whether a best-return start copies the old head's statistics and temperature too."""


@dataclass(frozen=True)
class SacSettings:
    """The underlying algorithm, soft actor-critic."""

    learning_rate: float = 1e-3
    discount: float = 0.99
    target_smoothing: float = 0.005
    """Share of the critic that moves into its target at every update."""
    target_output_std: float = 0.089
    """The temperature steers to the entropy of a Gaussian with this spread."""
    initial_log_alpha: float | None = None
    """Where each task's temperature starts. None takes 1 where targets are raw, as the reference
    code does, and -5 where they are normalised: the policy that is copied at the start of a task
    would be lost while the temperature falls from there (docs/learning.md)."""
    adam_epsilon: float = 1e-7
    """Added to the root of Adam's second moment, as in Keras."""
    bound_targets: bool = True
    """Keep every task's targets within the values that its rewards allow."""
    precision: Literal["default", "float32", "bfloat16"] = "default"
    """Precision of matrix products: the device's default for float32 (tf32 on recent GPUs), exact
    float32, or bfloat16 inputs with float32 sums."""


@dataclass(frozen=True)
class LearnerSettings:
    """Everything the learner needs besides the method."""

    network: NetworkSettings = NetworkSettings()
    sac: SacSettings = SacSettings()
    popart: PopArtSettings = PopArtSettings()
    updates_per_burst: int = 50
    """Updates between two appended chunks."""


@dataclass(frozen=True)
class ScheduleSettings:
    """How long, how often, how many at once."""

    steps_per_task: int = 1_000_000
    chunk_steps: int = 50
    """Steps that every run collects between two bursts of updates."""
    update_after: int = 1_000
    """Updates start at this step of a task."""
    random_steps: int = 10_000
    """Uniformly random actions at the start of the first task, and of every task of methods
    without a best-return start."""
    evaluate_every: int = 20_000
    evaluation_episodes: int = 10
    """Stochastic episodes per task and evaluation; as many deterministic ones are played too."""
    scoring_episodes: int = 10
    """Episodes that decide which old head earns most on a new task."""
    record_every: int = 1_000
    """Steps between two training records."""
    replay_capacity: int = 1_000_000
    """Transitions of the current task that replay holds."""
    overlap: bool = True
    """Collect the next chunk while learning from the last; False alternates strictly."""
    workers: int | None = None
    """Collecting processes; None takes one per core."""
    checkpoint_minutes: float = 10.0


@dataclass(frozen=True)
class Settings:
    """Everything that decides a fleet's results, besides its method, sequences and seeds."""

    world: WorldSettings = WorldSettings()
    learner: LearnerSettings = LearnerSettings()
    schedule: ScheduleSettings = ScheduleSettings()
