"""Settings, their defaults and their bounds. The command line is derived from these classes."""

from dataclasses import dataclass, fields
from typing import Annotated, Literal

from recall.errors import BadValueError
from recall.settings.checked import Checked, Count, NotNegative, Portion, Positive, Range, Share
from recall.settings.scalars import SCALAR

# The heads of old tasks that alternate are read and written once in a turn. With much longer turns
# an old task would wait for long, while the layers that it shares go on learning.
_LONGEST_TURN = 10

RewardName = Literal["v1", "v2"]
ObservationName = Literal["classic", "full"]
PrecisionName = Literal["default", "float32", "bfloat16"]
RemedyName = Literal[
    "none", "l2_init", "shrink_and_perturb", "redo", "continual_backprop", "c_chain"
]


@dataclass(frozen=True)
class WorldSettings(Checked):
    """Observations, rewards and episode length of the tasks."""

    reward: RewardName = "v1"
    """Continual World's reward per step: v1, the classic one, is -1 to 2200; v2 is 0 to 10."""
    observation: ObservationName = "classic"
    """Continual World's observation: classic has 12 numbers, full has Meta-World's 39."""
    horizon_steps: Count | None = None
    """Steps per episode; None uses the world's default (200 in Continual World)."""


@dataclass(frozen=True)
class NetworkSettings(Checked):
    """Shapes of actor and critics. The method chooses which layers the tasks share."""

    hidden: tuple[Count, ...] = (256, 256, 256, 256)
    """Width of each hidden layer."""
    activation: Literal["relu", "leaky_relu"] = "leaky_relu"
    """Activation of every hidden layer but the first, which has LayerNorm and tanh. Leaky ReLU has
    a slope of 0.2 below zero. With plain ReLU, networks die on the robots."""
    head_layers: Annotated[int, Range(least=0)] = 3
    """Number of hidden layers of a deep head."""

    def __post_init__(self) -> None:
        """Refuse networks without layers, and heads with more layers than the network."""
        super().__post_init__()
        if not self.hidden:
            raise BadValueError("hidden is empty; expected the width of at least one hidden layer")
        if self.head_layers > len(self.hidden):
            raise BadValueError(
                f"head_layers is {self.head_layers}, but the network has {len(self.hidden)} hidden "
                f"layers (hidden={self.hidden}); use at most {len(self.hidden)} head_layers"
            )


@dataclass(frozen=True)
class PopArtSettings(Checked):
    """Statistics of normalised targets (PopArt)."""

    step_size: Annotated[Share, SCALAR] = 3e-4
    """Step size of the statistics, the paper's beta."""
    sigma_bounds: tuple[Positive, Positive] = (1e-4, 1e6)
    """Smallest and largest scale (sigma) of the targets."""
    bias_corrected: bool = True
    """Divide the step by 1 - (1 - beta)^t, so that a head's first batch of targets sets its scale,
    already for its first loss. Not in the paper: without it, the large gradient of the first batch
    stays in Adam's second moment for a thousand updates."""
    statistics_of: Literal["raw", "normalised"] = "raw"
    """Targets that the statistics follow: raw (the paper) or normalised (the paper's code)."""

    def __post_init__(self) -> None:
        """Refuse bounds in the wrong order."""
        super().__post_init__()
        smallest, largest = self.sigma_bounds
        if not smallest < largest:
            raise BadValueError(
                f"sigma_bounds is {self.sigma_bounds}; expected the smaller bound first"
            )


@dataclass(frozen=True)
class SacSettings(Checked):
    """Soft actor-critic, the underlying algorithm."""

    learning_rate: Annotated[Portion, SCALAR] = 1e-3
    """Learning rate of Adam for actor, critics and temperature."""
    discount: Annotated[Portion, SCALAR] = 0.98
    """Discount factor of future rewards (gamma). On the robots, whose episodes have 200 steps, hard
    tasks are learned faster than with 0.99; much longer tasks may need more."""
    n_step: Count = 5
    """Number of rewards that a target sums before it bootstraps; fewer at the end of an episode."""
    target_smoothing: Annotated[Portion, SCALAR] = 0.005
    """Fraction by which the target critic moves towards the critic at every update."""
    target_output_std: Annotated[Positive, SCALAR] = 0.089
    """Standard deviation of the Gaussian whose entropy is the target entropy of the temperature."""
    initial_log_alpha: Annotated[float | None, SCALAR] = None
    """Initial log temperature of each task. None uses 1, as the reference code does, and -5 where
    targets are normalised or a task may start from a copied policy: from 1, that would be lost
    while the temperature falls."""
    adam_epsilon: Annotated[Positive, SCALAR] = 1e-7
    """Constant added to the root of Adam's second moment, as in Keras."""
    bound_targets: bool = True
    """Clip every task's targets to the range of values that its rewards allow."""
    precision: PrecisionName = "default"
    """Precision of matrix products: the device's default for float32 (tf32 on recent GPUs), exact
    float32, or bfloat16 inputs summed in float32."""


@dataclass(frozen=True)
class PlasticitySettings(Checked):
    """Remedies for the loss of plasticity, which combine with any method."""

    remedy: RemedyName = "none"
    """Remedy: l2_init, shrink_and_perturb, redo, continual_backprop or c_chain. Only its own
    settings have an effect, and only the layers that tasks share are changed."""
    l2_init_weight: Annotated[NotNegative, SCALAR] = 1e-3
    """Weight of the squared distance of actor and critics from their initial weights."""
    shrink_and_perturb_kept: Annotated[Portion, SCALAR] = 0.8
    """Factor of the weights at the start of every task but the first."""
    shrink_and_perturb_fresh: Annotated[Portion, SCALAR] = 0.2
    """Factor of newly drawn weights, which are added to them."""
    redo_every: Count = 1_000
    """Updates after which dormant units are recycled, at the end of a burst."""
    redo_tau: Annotated[NotNegative, SCALAR] = 0.1
    """Largest activity of a dormant unit, as a share of its layer's mean."""
    continual_backprop_rate: Annotated[NotNegative, SCALAR] = 1e-4
    """Share of a layer's mature units that is recycled for every update."""
    continual_backprop_decay: Annotated[Portion, SCALAR] = 0.99
    """Decay of the units' mean utility for every update."""
    continual_backprop_maturity: Count = 10_000
    """Updates during which a new unit is not recycled."""
    c_chain_share: Annotated[NotNegative, SCALAR] = 0.05
    """Size of the churn's term as a share of the SAC loss that it is added to."""

    def __post_init__(self) -> None:
        """Refuse settings of a remedy that is not chosen."""
        super().__post_init__()
        for field in fields(self):
            value = getattr(self, field.name)
            of_another = field.name != "remedy" and not field.name.startswith(self.remedy)
            if of_another and value != field.default:
                raise BadValueError(
                    f"{field.name} is {value}, which has no effect with remedy {self.remedy!r}: "
                    "choose its remedy, or leave it out"
                )


@dataclass(frozen=True)
class LearnerSettings(Checked):
    """Settings of the learner that do not belong to the method."""

    network: NetworkSettings = NetworkSettings()
    sac: SacSettings = SacSettings()
    popart: PopArtSettings = PopArtSettings()
    plasticity: PlasticitySettings = PlasticitySettings()
    updates_per_burst: Count = 50
    """Number of updates between two appended chunks."""

    @property
    def updates_per_turn(self) -> int:
        """Return the number of updates after which other old tasks take part, if they alternate.

        It divides `updates_per_burst`, so that every burst begins with a turn.
        """
        return max(n for n in range(1, _LONGEST_TURN + 1) if self.updates_per_burst % n == 0)


@dataclass(frozen=True)
class ScheduleSettings(Checked):
    """Lengths, intervals and parallelism of training, evaluation and collection."""

    steps_per_task: Count = 1_000_000
    """Number of steps that every run trains on each task."""
    chunk_steps: Count = 50
    """Number of steps that every run collects between two bursts of updates."""
    boundaries: Literal["announced", "hidden"] = "announced"
    """Whether the learner is told where a task ends and the next begins. Where it is not, it has
    one head and trains on the whole sequence as if it were one task."""
    update_after: Count = 1_000
    """Step of a task at which updates start."""
    random_steps: Annotated[int, Range(least=0)] = 10_000
    """Number of steps at the start of a task before its policy acts. Actions are uniformly random;
    with a best-return start, old heads take turns with them."""
    noise_colour: Annotated[float, Range(least=0.0, most=2.0)] = 1.0
    """Colour of the noise in collected actions: its power falls with the frequency f as
    1/f^colour. 0 is white noise, drawn anew at every step; 1 is pink, 2 is red."""
    random_tails: Annotated[float, Range(least=0.0, most=1.0)] = 0.1
    """Share of collected episodes that end in random motion: from a random step on, noise alone
    moves the robot, which keeps its grip. It explores from where a stuck policy has come."""
    evaluate_every: Count = 20_000
    """Number of steps between two evaluations."""
    evaluation_episodes: Count = 10
    """Number of episodes of the stochastic policy for each task in an evaluation."""
    deterministic_episodes: Annotated[int, Range(least=0)] = 1
    """Number of episodes of the deterministic policy beside them, as many as in Continual World."""
    record_every: Count = 1_000
    """Number of steps between two training records."""
    replay_capacity: Count = 1_000_000
    """Number of transitions of the current task that replay holds."""
    policy_lag: Annotated[int, Range(least=0, most=10)] = 1
    """Number of bursts by which the policies that collect lie behind the learner. With 1 or more,
    workers and learner work at the same time, and with more, neither waits for the other's slower
    moments; 0 makes them alternate."""
    environments: Count = 1
    """Number of environments of the current task in which a run collects at the same time. They
    share the steps of a chunk equally, so with more, a run collects on more cores."""
    workers: Count | None = None
    """Number of collecting processes; None: one for each environment, but at least one and at most
    three for each core."""
    checkpoint_minutes: Positive = 10.0
    """Minutes between two checkpoints."""
    keep_replay: bool = False
    """Keep all transitions on disk after training, for `recall export --minari`. Those of the
    robots take 124 bytes each."""

    def __post_init__(self) -> None:
        """Refuse lengths that are not whole chunks."""
        super().__post_init__()
        chunk = self.chunk_steps
        for name in ("steps_per_task", "evaluate_every", "record_every", "replay_capacity"):
            value = getattr(self, name)
            if value % chunk:
                nearest = max(chunk, round(value / chunk) * chunk)
                raise BadValueError(
                    f"{name} is {value}; expected a multiple of chunk_steps, which is {chunk}; "
                    f"{nearest} is the nearest"
                )
        if chunk % self.environments:
            raise BadValueError(
                f"environments is {self.environments}; expected a divisor of chunk_steps, which is "
                f"{chunk}"
            )


@dataclass(frozen=True)
class Settings(Checked):
    """Settings that determine a fleet's results, besides its method, sequences and seeds."""

    world: WorldSettings = WorldSettings()
    learner: LearnerSettings = LearnerSettings()
    schedule: ScheduleSettings = ScheduleSettings()
