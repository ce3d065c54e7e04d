"""The progress of a fleet in plain numbers: the part of a checkpoint that is not arrays."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Progress:
    """Counters of a fleet's progress, which are the same for all runs that have not failed."""

    stage: int = 0
    steps: int = 0  # steps of the stage that are in replay
    updates: int = 0  # updates since the start of the run
    retrained: int = -1  # updates without new data at the end of the stage; -1 before its end
    evaluated: int = -1  # total steps at the last evaluation
    failed: dict[str, int] = field(default_factory=dict)  # run -> total step of its failure
    symptoms: dict[str, int] = field(default_factory=dict)  # counted by recall.runs.health
    episodes: list[list[Any]] = field(default_factory=list)  # ended since the last record
