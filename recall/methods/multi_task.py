"""Multi-task SAC on all tasks at once, the upper bound that Continual World reports.

The chunks of a run cycle through its tasks from the first step on, every task receives
`steps_per_task` steps in total, and batches are drawn uniformly from the data of all tasks. This
is not a continual learner: all tasks remain available throughout, so nothing can be forgotten.
"""

from dataclasses import dataclass
from typing import ClassVar

from recall.collect.task_schedule import Collects
from recall.learn.method import Method, Needs, Sampling


@dataclass(frozen=True)
class MultiTask(Method):
    """Uniform sampling from the data of all tasks; `normalise_targets` adds PopArt."""

    name: ClassVar[str] = "multi_task"
    label: ClassVar[str] = "Multi-task"
    summary: ClassVar[str] = "SAC on all tasks at once: what continual learning is measured by."
    reference: ClassVar[str] = "Wolczyk et al., Continual World, 2021 (MTL)"
    colour: ClassVar[str] = "#13738c"

    needs: ClassVar[Needs] = {
        "sampling": (("uniform",), "it trains all tasks at once, so none is new or old"),
        "best_return": ((False,), "no task starts from an old head"),
        "retraining_updates": ((0,), "no task ends before the last"),
    }

    sampling: Sampling = "uniform"
    memory_per_task: int | None = None

    @property
    def collects(self) -> Collects:
        """Return "all": every task is collected for at once."""
        return "all"
