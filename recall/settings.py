"""Settings and their defaults. The command line is derived from these classes."""

from dataclasses import dataclass
from typing import Literal

RewardName = Literal["v1", "v2"]
ObservationName = Literal["classic", "full"]


@dataclass(frozen=True)
class WorldSettings:
    """Observations, rewards and episode length of the tasks."""

    reward: RewardName = "v1"
    """Continual World's reward per step: v1, the classic one, is -1 to 2200; v2 is 0 to 10."""
    observation: ObservationName = "classic"
    """Continual World's observation: classic has 12 numbers, full has Meta-World's 39."""
    horizon_steps: int | None = None
    """Steps per episode; None uses the world's default (200 in Continual World)."""


@dataclass(frozen=True)
class NetworkSettings:
    """Shapes of actor and critics. The method chooses which layers the tasks share."""

    hidden: tuple[int, ...] = (256, 256, 256, 256)
    """Width of each hidden layer."""
    activation: Literal["relu", "leaky_relu"] = "leaky_relu"
    """Activation of every hidden layer but the first, which has LayerNorm and tanh. Leaky ReLU has
    a slope of 0.2 below zero. With plain ReLU, networks die on the robots (docs/learning.md)."""
    critic_norm: Literal["first", "every"] = "first"
    """Hidden layers of the critics that have LayerNorm: only the first, or every one."""
    head_layers: int = 3
    """Number of hidden layers of a deep head."""


@dataclass(frozen=True)
class PopArtSettings:
    """Statistics of normalised targets (PopArt)."""

    step_size: float = 3e-4
    """Step size of the statistics, the paper's beta."""
    sigma_bounds: tuple[float, float] = (1e-4, 1e6)
    """Smallest and largest scale (sigma) of the targets."""
    bias_corrected: bool = True
    """Divide the step by 1 - (1 - beta)^t, so that a head's first batch of targets sets its scale,
    already for its first loss. Not in the paper: without it, three of five first tasks did not
    start to learn (docs/learning.md)."""
    statistics_of: Literal["raw", "normalised"] = "raw"
    """Targets that the statistics follow: raw (the paper) or normalised (the paper's code)."""
    copy_statistics: bool = False
    """Whether a best-return start also copies the old head's statistics and temperature."""


@dataclass(frozen=True)
class SacSettings:
    """Soft actor-critic, the underlying algorithm."""

    learning_rate: float = 1e-3
    discount: float = 0.99
    target_smoothing: float = 0.005
    """Fraction by which the target critic moves towards the critic at every update."""
    target_output_std: float = 0.089
    """Standard deviation of the Gaussian whose entropy is the target entropy of the temperature."""
    initial_log_alpha: float | None = None
    """Initial log temperature of each task. None uses 1 with raw targets, as the reference code
    does, and -5 with normalised targets: from 1, the policy copied at the start of a task would
    be lost while the temperature falls (docs/learning.md)."""
    adam_epsilon: float = 1e-7
    """Constant added to the root of Adam's second moment, as in Keras."""
    bound_targets: bool = True
    """Clip every task's targets to the range of values that its rewards allow."""
    precision: Literal["default", "float32", "bfloat16"] = "default"
    """Precision of matrix products: the device's default for float32 (tf32 on recent GPUs), exact
    float32, or bfloat16 inputs summed in float32."""


@dataclass(frozen=True)
class LearnerSettings:
    """Settings of the learner that do not belong to the method."""

    network: NetworkSettings = NetworkSettings()
    sac: SacSettings = SacSettings()
    popart: PopArtSettings = PopArtSettings()
    updates_per_burst: int = 50
    """Number of updates between two appended chunks."""


@dataclass(frozen=True)
class ScheduleSettings:
    """Lengths, intervals and parallelism of training, evaluation and collection."""

    steps_per_task: int = 1_000_000
    chunk_steps: int = 50
    """Number of steps that every run collects between two bursts of updates."""
    update_after: int = 1_000
    """Step of a task at which updates start."""
    random_steps: int = 10_000
    """Number of uniformly random actions at the start of the first task, and, for methods without a
    best-return start, of every task."""
    evaluate_every: int = 20_000
    evaluation_episodes: int = 10
    """Stochastic episodes per task and evaluation; equally many deterministic ones are added."""
    scoring_episodes: int = 10
    """Number of episodes that decide which old head has the best return on a new task."""
    record_every: int = 1_000
    """Number of steps between two training records."""
    replay_capacity: int = 1_000_000
    """Number of transitions of the current task that replay holds."""
    overlap: bool = True
    """Collect the next chunk while learning from the last one; False alternates the two."""
    workers: int | None = None
    """Number of collecting processes; None uses one per core."""
    checkpoint_minutes: float = 10.0


@dataclass(frozen=True)
class Settings:
    """Settings that determine a fleet's results, besides its method, sequences and seeds."""

    world: WorldSettings = WorldSettings()
    learner: LearnerSettings = LearnerSettings()
    schedule: ScheduleSettings = ScheduleSettings()
