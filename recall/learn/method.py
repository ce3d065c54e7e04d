"""What a continual-learning method is: settings, and pure functions with do-nothing defaults.

Fine-tuning is the defaults. The learner knows no method's name: whatever a method does, it does
through the settings and the functions below, which see one run (the run axis is added outside)
and are traced into the update.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import jax.numpy as jnp

from recall.collect.task_schedule import Collects
from recall.errors import BadValueError
from recall.learn.state import Forward, Gradients, LearnerState
from recall.nets.arrays import Array, Metrics, Params
from recall.replay.batch import Batch

if TYPE_CHECKING:
    from recall.learn.agent import Agent

Sampling = Literal["new", "balanced", "uniform"]
Sharing = Literal["shallow", "deep", "separate"]


@dataclass(frozen=True)
class Method:
    """A frozen container: settings first, then the functions that a method may override."""

    # What the registry and the reports say of it.
    name: ClassVar[str] = "method"
    label: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    reference: ClassVar[str] = ""
    colour: ClassVar[str] = "#000000"

    sampling: Sampling = "new"
    """How rows are drawn: of the current task, new and old in balance, or of all that is stored."""
    batch_size: int = 128
    """Rows of the current task (of everything, where everything is sampled)."""
    old_batch_size: int = 128
    """Rows of old tasks, where halves are sampled."""
    max_old_tasks: int = 4
    """At most this many old tasks share the old half of one update; the others have their turn
    in the next. Beyond that many, further tasks cost little."""
    rehearse: bool = True
    """Whether the SAC losses apply to the old half too, or only the method's own terms."""
    old_weight: Literal["equal", "per_task"] = "equal"
    """How much the old half counts: as much as the new one, half each, or as much for each old
    task, each 1 (the authors' code)."""
    memory_per_task: int | None = 0
    """Transitions kept of each old task; None keeps all."""
    actor_heads: Sharing = "shallow"
    """Actor: linear heads on a shared network, or a separate network for each task."""
    critic_heads: Sharing = "shallow"
    """Critic: linear heads, deep heads (one layer shared), or separate networks."""
    normalise_targets: bool = False
    """PopArt on the targets of each head."""
    clip_norm: float | None = None
    """Largest norm of a gradient: the actor's and the critics', of new and of old rows, each by
    itself, so that none of them can scale down another."""
    clip_critics: bool = True
    """Whether the critics' gradients are clipped too."""
    average_actor: float | None = None
    """Share of the actor that moves, at every update, into an average that is evaluated, scored on
    new tasks and distilled, while the actor itself collects; None uses the actor for all."""
    best_return: bool = False
    """Start a new task from the old head that earns most on it, without uniform exploration."""
    reset_optimiser: bool = True
    """Forget the optimisers' moments when a task starts, and before retraining: those of a task
    with large rewards would hold back one with small rewards for long."""
    retraining_updates: int = 0
    """Updates without new data after the end of every task but the last."""

    def __post_init__(self) -> None:
        """Refuse values that no run could use."""
        if self.batch_size < 1 or self.old_batch_size < 1 or self.max_old_tasks < 1:
            raise BadValueError(
                f"batch sizes {self.batch_size} and {self.old_batch_size} in {self.max_old_tasks} "
                "groups: each must be at least 1"
            )
        if self.memory_per_task is not None and self.memory_per_task < 0:
            raise BadValueError(f"memory_per_task {self.memory_per_task} is negative")
        if self.sampling != "new" and not self.stores_old_data():
            raise BadValueError(
                f"memory_per_task 0 leaves nothing of old tasks for sampling {self.sampling!r}; "
                "None keeps all, and sampling 'new' needs none"
            )
        if self.retraining_updates < 0:
            raise BadValueError(f"retraining_updates {self.retraining_updates} is negative")
        if self.average_actor is not None and not 0 < self.average_actor <= 1:
            raise BadValueError(
                f"average_actor {self.average_actor} must be above 0 and at most 1, or None"
            )
        if self.clip_norm is not None and self.clip_norm <= 0:
            raise BadValueError(f"clip_norm {self.clip_norm} must be positive, or None for none")
        if self.collects != "current" and self.memory_per_task is not None:
            raise BadValueError(
                f"memory_per_task {self.memory_per_task} of tasks that are collected for again: "
                "None keeps what replay holds of them"
            )

    @property
    def collects(self) -> Collects:
        """What is collected: the current task, every task seen so far, or all tasks at once."""
        return "current"

    @property
    def distils_critics(self) -> bool:
        """Whether the critics of old tasks learn stored values instead of bootstrapped targets."""
        return False

    def stores_old_data(self) -> bool:
        """Whether anything is kept of old tasks."""
        return self.memory_per_task is None or self.memory_per_task > 0

    def init_actor(self, actor: Params, key: Array) -> Params:
        """The actor's parameters, extended where a method needs more (a posterior's spread)."""
        return actor

    def init(self, agent: "Agent", state: LearnerState) -> Any:
        """The method's own state, a pytree whose shapes never change."""
        return ()

    def actor_for_training(self, actor: Params, key: Array) -> Params:
        """The network's parameters that a training pass uses (a draw from a posterior, say)."""
        return actor

    def actor_for_task(self, method_state: Any, actor: Params, task: Array) -> Params:
        """The network's parameters that act on `task`, in evaluation and collection."""
        return actor

    def row_weights(self, batch: Batch, old_tasks: Array) -> Array:
        """[batch] how much each row counts in the SAC losses.

        Weights sum to 1, and to 1 for the new rows and each old task with `per_task`.
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

    def actor_loss(
        self, agent: "Agent", method_state: Any, actor: Params, forward: Forward
    ) -> tuple[Array | float, Metrics]:
        """A term added to the actor's loss, and the method's own metrics."""
        return 0.0, {}

    def critic_loss(
        self, agent: "Agent", method_state: Any, critic: Params, forward: Forward
    ) -> tuple[Array | float, Metrics]:
        """A term added to the critics' loss."""
        return 0.0, {}

    def edit_gradients(
        self,
        method_state: Any,
        gradients: Gradients,
        batch: Batch,
        gradients_for: Callable[[Array], Gradients],
    ) -> tuple[Gradients, Metrics]:
        """Change the gradients; `gradients_for(weights)` gives those of other row weights."""
        return gradients, {}

    def on_task_end(
        self,
        agent: "Agent",
        state: LearnerState,
        task: Array,
        draw: Callable[[int, Array], Batch],
        key: Array,
    ) -> LearnerState:
        """After the last update of `task`; `draw(size, key)` samples its transitions."""
        return state
