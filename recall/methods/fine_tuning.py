"""Fine-tuning: SAC on one task after the other. The defaults of a method, nothing else."""

from recall.learn.method import Method as FineTuning

__all__ = ["FineTuning"]
