"""The metrics of a run on a sequence: their names, titles and what counts as success."""

from dataclasses import dataclass

from recall.analysis import metrics
from recall.errors import BadValueError, UnknownNameError
from recall.runs.evaluations import FIELDS, MODES
from recall.settings.checked import Checked, from_plain

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
_OF_SUCCESS = tuple(name for name in FIELDS if name != RETURN)


@dataclass(frozen=True)
class Measure(Checked):
    """What counts as success, and the number of evaluations to average at a boundary."""

    window: int = metrics.WINDOW
    mode: str = MODES[0]
    field: str = FIELDS[0]

    def __post_init__(self) -> None:
        """Refuse empty windows and unknown names."""
        super().__post_init__()
        if self.window < 1:
            raise BadValueError(
                f"window {self.window}: success at a boundary is the mean of at least 1 evaluation"
            )
        if self.mode not in MODES:
            raise UnknownNameError("mode", self.mode, MODES)
        if self.field not in FIELDS:
            raise UnknownNameError("measure of success", self.field, _OF_SUCCESS)


def of_success(measure: Measure | None) -> Measure:
    """Return a measure, by default the usual one; refuse the return, which reports show anyway."""
    found: Measure = from_plain(Measure, Measure() if measure is None else measure, "measure")
    if found.field not in _OF_SUCCESS:
        raise UnknownNameError("measure of success", found.field, _OF_SUCCESS)
    return found
