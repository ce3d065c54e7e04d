"""Where a fleet stands, in plain numbers: the part of a checkpoint that is no array."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Progress:
    """Counts of what happened; the same for all runs but for those that failed."""

    stage: int = 0
    steps: int = 0  # of the stage, appended to replay
    updates: int = 0  # of the whole run
    retrained: int = -1  # updates without new data after the stage; -1 before its end
    evaluated: int = -1  # total steps at the last evaluation
    failed: dict[str, int] = field(default_factory=dict)  # run -> total step
    symptoms: dict[str, int] = field(default_factory=dict)  # counted by recall.results.health
    episodes: list[list[Any]] = field(default_factory=list)  # ended since recorded
