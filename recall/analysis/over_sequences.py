"""Metrics of several scores: which of them to show, and their means over sequences."""

from collections.abc import Sequence

from recall.analysis.bootstrap import Sampled, mean_of
from recall.analysis.measures import METRICS, TRANSFER
from recall.analysis.scores import Scores


def mean_over(scores: Sequence[Scores], metric: str) -> Sampled | None:
    """Return the mean of a metric over sequences, or None unless each of them has a number.

    A mean over only those that have one would not compare with that of another label.
    """
    parts = [part for each in scores if (part := each.metric(metric)) is not None]
    return mean_of(parts) if parts and len(parts) == len(scores) else None


def metrics_of(scores: Sequence[Scores]) -> list[str]:
    """Return the metrics to show; forward transfer only if a score has it."""
    return [
        metric
        for metric in METRICS
        if metric != TRANSFER or any(each.forward_transfer for each in scores)
    ]
