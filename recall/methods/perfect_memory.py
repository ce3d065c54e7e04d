"""Perfect memory: keep every transition and sample uniformly from all of them.

This is the naive replay whose failure the paper studies: in the shared critic, the large targets
of old tasks drown the small first rewards of a new one. The paper's other replay mode, `online`,
continues to collect from the environments of old tasks, which a continual learner may not do. It
shows that perfect memory forgets because no new data are collected for old tasks.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from recall.collect.task_schedule import Collects
from recall.learn.method import Method, Sampling


@dataclass(frozen=True)
class PerfectMemory(Method):
    """Uniform batches of 512 from all transitions collected so far."""

    name: ClassVar[str] = "perfect_memory"
    label: ClassVar[str] = "PM"
    summary: ClassVar[str] = "Keeps every transition and samples uniformly from all of them."
    reference: ClassVar[str] = "Wolczyk et al., Disentangling Transfer, 2022"
    colour: ClassVar[str] = "#722fbd"

    sampling: Sampling = "uniform"
    batch_size: int = 512
    memory_per_task: int | None = None
    replay_mode: Literal["offline", "online"] = "offline"
    """Source of old tasks' data. offline: only the data of their own stage; online: also a fresh
    chunk of each old task, by the current policy, with every chunk of the current task."""

    @property
    def collects(self) -> Collects:
        """Return "seen" (every task seen so far) if replay is online, else "current"."""
        return "seen" if self.replay_mode == "online" else "current"
