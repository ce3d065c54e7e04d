"""Perfect memory: keep every transition, sample uniformly from everything.

The naive replay whose failure the paper studies: old tasks' large targets drown the small first
rewards of a new one in the shared critic.
"""

from dataclasses import dataclass
from typing import ClassVar

from recall.methods.base import Method, Sampling


@dataclass(frozen=True)
class PerfectMemory(Method):
    """Batch 512 over all that was ever seen."""

    name: ClassVar[str] = "perfect_memory"
    label: ClassVar[str] = "PM"
    summary: ClassVar[str] = "Keeps every transition and samples uniformly from all of them."
    reference: ClassVar[str] = "Wolczyk et al., Disentangling Transfer, 2022"
    colour: ClassVar[str] = "#9467bd"

    sampling: Sampling = "everything"
    batch_size: int = 512
    memory_per_task: int | None = None
