"""The metrics of a run on a sequence: their names, titles and what counts as success."""

from dataclasses import dataclass

from recall.analysis import metrics
from recall.errors import UnknownNameError
from recall.runs.evaluations import FIELDS, MODES, Field, Mode
from recall.settings.checked import Checked, Count, from_plain

PERFORMANCE, FORGETTING, TRANSFER = "average_performance", "forgetting", "forward_transfer"
RETURN: Field = "return"
"""The field that stands for success where tasks do not report it."""
METRICS = (PERFORMANCE, FORGETTING, TRANSFER)
TITLES = {
    PERFORMANCE: "average performance",
    FORGETTING: "forgetting",
    TRANSFER: "forward transfer",
}
"""The metrics in words, for headings and sentences."""
LOWER_IS_BETTER = (FORGETTING,)
_OF_SUCCESS = tuple(name for name in FIELDS if name != RETURN)


@dataclass(frozen=True)
class Measure(Checked):
    """What counts as success, and the number of evaluations to average at a boundary."""

    window: Count = metrics.WINDOW
    mode: Mode = MODES[0]
    field: Field = FIELDS[0]


def of_success(measure: Measure | None) -> Measure:
    """Return a measure, by default the usual one; refuse the return, which reports show anyway."""
    found: Measure = from_plain(Measure, Measure() if measure is None else measure, "measure")
    if found.field not in _OF_SUCCESS:
        raise UnknownNameError("measure of success", found.field, _OF_SUCCESS)
    return found
