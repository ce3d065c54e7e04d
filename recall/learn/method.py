"""The base class of continual-learning methods: settings and pure functions.

The defaults do nothing, which is fine-tuning. The learner knows no method's name: a method acts
through the settings and functions below alone. The functions see one run (the run axis is added
outside) and are traced into the update (recall.learn.sac).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from recall.collect.task_schedule import Collects
from recall.errors import BadValueError
from recall.nets.arrays import Array, Metrics, Params
from recall.nets.gaussian import Gaussian
from recall.nets.heads import Heads
from recall.replay import buffer
from recall.replay.batch import Batch, ReplayView
from recall.replay.buffer import Replay
from recall.settings.checked import Checked, Count, Positive, Range, Share
from recall.settings.scalars import SCALAR

if TYPE_CHECKING:
    from recall.learn.agent import Agent, LearnerState

Sampling = Literal["new", "balanced", "uniform"]
Sharing = Literal["shallow", "deep", "separate"]
Draw = Callable[[int, Array], Batch]  # samples rows of a task, with a key
Needs = dict[str, tuple[tuple[Any, ...], str]]


class Gradients(NamedTuple):
    """Gradients of the losses; trunk and heads are `OldAndNew` where a batch has old rows."""

    actor: Params
    critic: Params
    log_alpha: Params


@dataclass(frozen=True)
class Method(Checked):
    """A frozen container: settings first, then the functions that a method may override."""

    # How the registry and the reports present the method.
    name: ClassVar[str] = "method"
    label: ClassVar[str] = "Method"
    summary: ClassVar[str] = ""
    reference: ClassVar[str] = ""
    colour: ClassVar[str] = "#000000"

    refused_remedies: ClassVar[Mapping[str, str]] = {}
    """Remedies for plasticity (recall.learn.remedies) that do not fit the method, and why."""

    needs: ClassVar[Needs] = {}
    """Settings with the only values that the method can use of them, and why."""

    sampling: Sampling = "new"
    """Rows of a batch: of the current task ("new"), new and old rows ("balanced"), or uniformly
    from everything stored ("uniform")."""
    batch_size: Count = 128
    """Rows of the current task; with uniform sampling, rows of all tasks."""
    old_batch_size: Count = 128
    """Rows of old tasks, with balanced sampling."""
    max_old_tasks: Count = 4
    """Largest number of old tasks in one update; if there are more, they take turns of up to ten
    updates. Beyond this number, further tasks cost little."""
    rehearse: bool = True
    """Apply the SAC losses to old rows too; otherwise only the method's own terms use them."""
    old_weight: Literal["equal", "per_task"] = "equal"
    """Weight of the old rows: "equal" counts new and old rows one half each, "per_task" counts the
    new rows and every old task 1 each (the authors' code)."""
    memory_per_task: Annotated[int, Range(least=0)] | None = 0
    """Transitions kept of each old task; None keeps all."""
    actor_heads: Sharing = "shallow"
    """Actor heads: linear, deep (only the first layers are shared), or separate networks."""
    critic_heads: Sharing = "shallow"
    """Critic heads: linear, deep (only the first layers are shared), or separate networks."""
    normalise_targets: bool = False
    """Normalise the targets of each head with PopArt."""
    clip_norm: Annotated[Positive | None, SCALAR] = None
    """Largest norm of a gradient, for actor and critics separately; None does not clip."""
    clip_apart: bool = True
    """Bound the gradients of new and of old rows each by itself, so that neither scales down the
    other; otherwise their sum (the authors' code)."""
    average_actor: Annotated[Share | None, SCALAR] = 0.002
    """Share of the actor that moves into its average at every update. The average is evaluated,
    tried on new tasks and distilled, while the actor itself collects. None keeps no average."""
    best_return: bool = False
    """Let old heads take turns with random actions at the start of a task, and copy the one with
    the highest return (`copies`)."""
    copies: Literal["better_policy", "tested_policy", "best_head"] = "better_policy"
    """What a best-return start copies: the policy of the best old head, if it earned more than
    random actions, or if a t-test says so; or policy and critics in any case, without random
    actions (the paper)."""
    reset_optimiser: bool = True
    """Reset the optimisers when a task starts and before retraining: the moments of a task with
    large rewards would slow down one with small rewards for long."""
    retraining_updates: Annotated[int, Range(least=0)] = 0
    """Updates without new data after every task but the last."""

    def __post_init__(self) -> None:
        """Refuse values that cannot be used together."""
        super().__post_init__()
        for name, (usable, reason) in self.needs.items():
            if getattr(self, name) not in usable:
                raise BadValueError(
                    f"{name} is {getattr(self, name)!r}, but {self.name} needs "
                    f"{' or '.join(map(repr, usable))}: {reason}"
                )
        if self.sampling != "new" and not self.stores_old_data():
            raise BadValueError(
                f"memory_per_task is 0, but sampling {self.sampling!r} needs data of old tasks; "
                "use memory_per_task=None to keep all, or sampling='new'"
            )
        if self.sampling == "balanced" and not (self.reset_optimiser or self.trains_old_critics):
            raise BadValueError(
                f"reset_optimiser is False, but {self.name} needs True where nothing trains the "
                "critics of old tasks (`trains_old_critics`): Adam's old moments would move them"
            )
        if self.critics != 2 and self.stores_old_data():
            raise BadValueError(
                f"{self.critics} critics: replay stores the values of two with old transitions, so "
                "another number needs memory_per_task 0"
            )
        if self.critic_outputs != 1 and self.normalise_targets:
            raise BadValueError(
                f"normalise_targets with {self.critic_outputs} outputs of a critic: PopArt "
                "rewrites critics with one output"
            )
        if self.collects != "current" and self.memory_per_task is not None:
            raise BadValueError(
                f"memory_per_task is {self.memory_per_task}, but {self.name} continues to collect "
                "from old tasks; use memory_per_task=None, and replay_capacity to limit their data"
            )
        own_rows = self.sampling == "new" and type(self).sample is not Method.sample
        for name, neutral in (("rehearse", True), ("old_weight", "equal")):
            if getattr(self, name) != neutral and self.sampling != "balanced" and not own_rows:
                raise BadValueError(
                    f"{name} is {getattr(self, name)!r}, but with sampling {self.sampling!r} no "
                    f"part of a batch is set aside for old tasks; use {name}={neutral!r}, or "
                    "sampling='balanced'"
                )

    def needs_boundaries(self) -> str:
        """Return why the method must know where a task ends, or "" if it does without."""
        own = {
            name for name, value in vars(Method).items() if getattr(type(self), name) is not value
        }
        reasons = {
            "it collects for several tasks at once": self.collects != "current",
            "it sets a part of every batch aside for old tasks": self.sampling == "balanced",
            "memory_per_task keeps a sample of every task": bool(self.memory_per_task),
            "best_return starts every task from an old head": self.best_return,
            "retraining_updates follow every task": self.retraining_updates > 0,
            "every task has networks of its own": "separate"
            in (self.actor_heads, self.critic_heads),
            "it acts at the start of every task": "on_task_start" in own,
            "it acts when a task starts from an old head": "on_copy" in own,
            "it acts at the end of every task": "on_task_end" in own,
        }
        return next((reason for reason, holds in reasons.items() if holds), "")

    @property
    def critics(self) -> int:
        """Return the number of critics; targets and policies use the smallest of their values."""
        return 2

    @property
    def critic_outputs(self) -> int:
        """Return the number of outputs of a critic, which `values` turns into a value."""
        return 1

    @property
    def collects(self) -> Collects:
        """Return what is collected: the current task, every task seen so far, or all tasks."""
        return "current"

    @property
    def trains_old_critics(self) -> bool:
        """Return True if some loss trains the critics of the old rows in a batch."""
        return self.rehearse

    def stores_old_data(self) -> bool:
        """Return True if transitions of old tasks are kept."""
        return self.memory_per_task is None or self.memory_per_task > 0

    def init_actor(self, actor: Params, key: Array) -> Params:
        """Return the actor's parameters, with more if the method needs them (VCL's spread)."""
        return actor

    def init(self, agent: "Agent", state: "LearnerState") -> Any:
        """Return the method's own initial state: a pytree of fixed structure, shapes and types."""
        return ()

    def actor_for_training(self, method_state: Any, actor: Params, key: Array) -> Params:
        """Return the parameters that a training pass uses (VCL draws them)."""
        return actor

    def actor_for_task(self, method_state: Any, actor: Params, task: Array) -> Params:
        """Return the parameters that act on `task`, in evaluation and collection."""
        return actor

    def heads(self, view: ReplayView, tasks: int, groups: int, turn: Array) -> Heads:
        """Return the tasks [heads] whose heads take part in a turn's updates, the current one last.

        `groups` old tasks should be among them. Heads that `turn` decides are computed; others are
        constants or the current task.
        """
        if self.sampling == "uniform":
            return np.arange(tasks)
        return buffer.tasks_of_turn(view, groups, self.max_old_tasks, turn)

    def sample(
        self,
        agent: "Agent",
        method_state: Any,
        replay: Replay,
        view: ReplayView,
        heads: Heads,
        bits: Array,
    ) -> Batch:
        """Return a batch of rows of the tasks `heads`; each of the random `bits` [batch] draws one.

        A method of its own may leave what it wants to know later about the rows in `notes`.
        """
        columns, n_step = agent.columns, agent.n_step
        if self.sampling == "uniform":
            return buffer.sample_uniform(replay, view, columns, n_step, bits)
        if len(heads) == 1:
            return buffer.sample_new(replay, view, columns, n_step, bits)
        return buffer.sample_balanced(replay, view, columns, n_step, self.batch_size, heads, bits)

    def values(self, outputs: Array) -> Array:
        """Return the values [critic, batch] of the critics' outputs [critic, batch, outputs]."""
        return outputs[..., 0]

    def q_loss(
        self, outputs: Array, target: Array, mean: Array, sigma: Array, weights: Array
    ) -> Array:
        """Return the critics' loss for their outputs [critic, batch, outputs].

        `target` is raw, [batch] or [critic, batch]; `mean` and `sigma` [batch] normalise it, and
        are 0 and 1 without PopArt. `weights` [batch] is how much each row counts.
        """
        return jnp.sum(weights * 0.5 * (self.values(outputs) - (target - mean) / sigma) ** 2)

    def old_targets(self, batch: Batch) -> Array | None:
        """Return targets [critic, batch] of the critics for the old rows; None bootstraps them.

        Those of new rows are not read. The scale of old values (PopArt) then stays as it is.
        """
        return None

    def row_weights(self, batch: Batch, old_tasks: Array) -> Array:
        """Return the weight of each row [batch] in the SAC losses.

        All weights sum to 1; with `per_task` those of the new rows do, and those of the old rows
        sum to the number of old tasks.
        """
        if self.sampling == "uniform":
            return jnp.full(batch.reward.shape, 1.0 / batch.reward.shape[0])
        new = batch.new / jnp.sum(batch.new)
        old_rows = jnp.sum(1.0 - batch.new)
        if not self.rehearse:
            return new
        old = (1.0 - batch.new) / jnp.maximum(old_rows, 1.0)
        if self.old_weight == "per_task":
            return new + old_tasks * old
        return (new + old) / (1.0 + (old_rows > 0))

    def extra_actor_loss(
        self,
        agent: "Agent",
        method_state: Any,
        actor: Params,
        batch: Batch,
        policy: Gaussian,
    ) -> tuple[Array | float, Metrics]:
        """Return a term that is added to the actor's loss, and the method's own metrics.

        `policy` [batch, act] is that of `actor` in the batch's states.
        """
        return 0.0, {}

    def extra_critic_loss(
        self, agent: "Agent", method_state: Any, critic: Params, batch: Batch, q: Array
    ) -> tuple[Array | float, Metrics]:
        """Return a term that is added to the critics' loss, and the method's own metrics.

        `q` [critic, batch] are the normalised values of the batch's actions. The batch has no rows
        of old tasks if no loss trains their critics (`trains_old_critics`).
        """
        return 0.0, {}

    def edit_gradients(
        self, method_state: Any, gradients: Gradients, batch: Batch
    ) -> tuple[Gradients, Metrics]:
        """Return changed gradients, and the method's own metrics."""
        return gradients, {}

    def on_update(
        self, agent: "Agent", method_state: Any, batch: Batch, q: Array, target: Array
    ) -> Any:
        """Return the method's own state after an update (prioritised replay notes its errors).

        `q` [critic, rows] are the values before it, and `target` [rows] what they should be, of all
        rows that SAC trains on.
        """
        return method_state

    def on_task_start(self, agent: "Agent", state: "LearnerState", task: Array) -> "LearnerState":
        """Return the state at the start of `task`, before its first update."""
        return state

    def on_copy(
        self, agent: "Agent", state: "LearnerState", source: Array, task: Array
    ) -> "LearnerState":
        """Return the state after a best-return start copied head `source` (-1: none) to `task`."""
        return state

    def on_task_end(
        self, agent: "Agent", state: "LearnerState", task: Array, draw: Draw, key: Array
    ) -> "LearnerState":
        """Return the state after the last update of `task`; `draw(size, key)` samples its rows."""
        return state


def checked_term(method: Method, function: str, returned: Any) -> tuple[Array, Metrics]:
    """Return the loss and the metrics that a method's function returned, or refuse them.

    JAX would complain of something that names neither the method nor its function.
    """
    match returned:
        case (int() | float() | np.generic() | np.ndarray() | jax.Array() as loss, {}) if (
            not jnp.shape(loss)
        ):
            return jnp.asarray(loss), returned[1]
    shapes = jax.tree.map(lambda leaf: getattr(leaf, "shape", leaf), returned)
    raise BadValueError(
        f"method {method.name}: {function} returns {shapes!r}; expected a number and a dict of "
        "metrics, `loss, {}`: take the mean over the batch"
    )


def merged(*parts: Metrics) -> Metrics:
    """Return all metrics together; raise BadValueError if two parts have one of the same name."""
    found: Metrics = {}
    for part in parts:
        if taken := found.keys() & part.keys():
            raise BadValueError(
                f"the metric {min(taken)!r} is returned twice; a method's own metrics need names "
                "that neither the learner nor another of its functions uses"
            )
        found |= part
    return found
