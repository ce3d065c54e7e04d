"""The metrics of a run on a sequence: their names, titles and what counts as success."""

from dataclasses import dataclass

from recall.results import metrics
from recall.results.evaluations import FIELDS, MODES

PERFORMANCE, FORGETTING, TRANSFER = "average_performance", "forgetting", "forward_transfer"
RETURN = "return"
"""The field that stands for success where tasks do not report it."""
METRICS = (PERFORMANCE, FORGETTING, TRANSFER)
TITLES = {
    PERFORMANCE: "average performance",
    FORGETTING: "forgetting",
    TRANSFER: "forward transfer",
}
"""The metrics in words, for headings and sentences."""
LOWER_IS_BETTER = (FORGETTING,)


@dataclass(frozen=True)
class Measure:
    """What counts as success, and the number of evaluations to average at a boundary."""

    window: int = metrics.WINDOW
    mode: str = MODES[0]
    field: str = FIELDS[0]
