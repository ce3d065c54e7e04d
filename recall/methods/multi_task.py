"""Multi-task SAC: all tasks at once, the upper bound that Continual World reports.

No task comes before another. The chunks of a run go round its tasks from the first step on, each
has `steps_per_task` steps in the end, and every batch is drawn from all of them alike. It is no
continual learner: it plays every task whenever it likes, so nothing can be forgotten.
"""

from dataclasses import dataclass
from typing import ClassVar

from recall.collect.task_schedule import Collects
from recall.errors import BadValueError
from recall.learn.method import Method, Sampling


@dataclass(frozen=True)
class MultiTask(Method):
    """Uniform over what was collected of all tasks; PopArt by `normalise_targets`."""

    name: ClassVar[str] = "multi_task"
    label: ClassVar[str] = "Multi-task"
    summary: ClassVar[str] = "SAC on all tasks at once: what continual learning is measured by."
    reference: ClassVar[str] = "Wolczyk et al., Continual World, 2021 (MTL)"
    colour: ClassVar[str] = "#17becf"

    sampling: Sampling = "uniform"
    memory_per_task: int | None = None

    def __post_init__(self) -> None:
        """Refuse values that no run could use."""
        super().__post_init__()
        if self.sampling != "uniform":
            raise BadValueError(
                f"multi_task with sampling {self.sampling!r}: no task is new or old, all are "
                "drawn from by 'uniform'"
            )

    @property
    def collects(self) -> Collects:
        """All tasks at once."""
        return "all"
