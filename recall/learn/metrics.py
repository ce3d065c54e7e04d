"""The metrics of an update, which the learner and the method contribute to."""

from recall.errors import BadValueError
from recall.nets.arrays import Metrics


def merged(*parts: Metrics) -> Metrics:
    """Return all metrics together; raise BadValueError if two parts have one of the same name."""
    found: Metrics = {}
    for part in parts:
        if taken := found.keys() & part.keys():
            raise BadValueError(
                f"the metric {min(taken)!r} is returned twice; a method's own metrics need names "
                "that neither the learner nor another of its functions uses"
            )
        found |= part
    return found
