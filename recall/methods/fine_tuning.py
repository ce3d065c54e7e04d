"""Fine-tuning: SAC on one task after the other, which is what the defaults of Method do."""

from recall.learn.method import Method as FineTuning

__all__ = ["FineTuning"]
