"""Fine-tuning: SAC on one task after the other, which is what the defaults of Method do."""

from dataclasses import dataclass
from typing import ClassVar

from recall.learn.method import Method


@dataclass(frozen=True)
class FineTuning(Method):
    """Plain SAC; overrides nothing."""

    name: ClassVar[str] = "fine_tuning"
    label: ClassVar[str] = "Fine-tuning"
    summary: ClassVar[str] = "SAC on one task after the other, nothing done against forgetting."
    reference: ClassVar[str] = "Wolczyk et al., Continual World, 2021"
    colour: ClassVar[str] = "#7d7d7d"
