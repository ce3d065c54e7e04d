"""Perfect memory: keep every transition, sample uniformly from everything.

The naive replay whose failure the paper studies: old tasks' large targets drown the small first
rewards of a new one in the shared critic. The paper's other replay mode, `online`, goes back to
the old tasks' environments, which a continual learner may not: it shows that what perfect memory
forgets, it forgets because nobody collects for old tasks any more.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from recall.collect.task_schedule import Collects
from recall.learn.method import Method, Sampling


@dataclass(frozen=True)
class PerfectMemory(Method):
    """Batch 512 over all that was ever seen."""

    name: ClassVar[str] = "perfect_memory"
    label: ClassVar[str] = "PM"
    summary: ClassVar[str] = "Keeps every transition and samples uniformly from all of them."
    reference: ClassVar[str] = "Wolczyk et al., Disentangling Transfer, 2022"
    colour: ClassVar[str] = "#9467bd"

    sampling: Sampling = "uniform"
    batch_size: int = 512
    memory_per_task: int | None = None
    replay_mode: Literal["offline", "online"] = "offline"
    """Old tasks' data: those of their stage, or joined by a fresh chunk of each, by the current
    policy, with every chunk of the current task."""

    @property
    def collects(self) -> Collects:
        """Every task seen so far, where replay is online."""
        return "seen" if self.replay_mode == "online" else "current"
