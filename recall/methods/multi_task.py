"""Multi-task SAC on all tasks at once, the upper bound that Continual World reports.

The chunks of a run cycle through its tasks from the first step on, every task receives
`steps_per_task` steps in total, and batches are drawn uniformly from the data of all tasks. This
is not a continual learner: all tasks remain available throughout, so nothing can be forgotten.
"""

from dataclasses import dataclass
from typing import ClassVar

from recall.collect.task_schedule import Collects
from recall.errors import BadValueError
from recall.learn.method import Method, Sampling


@dataclass(frozen=True)
class MultiTask(Method):
    """Uniform sampling from the data of all tasks; `normalise_targets` adds PopArt."""

    name: ClassVar[str] = "multi_task"
    label: ClassVar[str] = "Multi-task"
    summary: ClassVar[str] = "SAC on all tasks at once: what continual learning is measured by."
    reference: ClassVar[str] = "Wolczyk et al., Continual World, 2021 (MTL)"
    colour: ClassVar[str] = "#13738c"

    sampling: Sampling = "uniform"
    memory_per_task: int | None = None

    def __post_init__(self) -> None:
        """Raise BadValueError for values that no run can use."""
        super().__post_init__()
        if self.sampling != "uniform":
            raise BadValueError(
                f"sampling is {self.sampling!r}, but multi_task needs 'uniform': it trains all "
                "tasks at once, so none is new or old"
            )

    def check_effects(self) -> None:
        """Raise BadValueError for settings that would have no effect."""
        super().check_effects()
        if self.best_return or self.retraining_updates:
            raise BadValueError(
                f"best_return is {self.best_return} and retraining_updates is "
                f"{self.retraining_updates}, but multi_task trains all tasks at once, so that no "
                "task starts from an old head or ends before the last; leave them at False and 0"
            )

    @property
    def collects(self) -> Collects:
        """Return "all": every task is collected for at once."""
        return "all"
