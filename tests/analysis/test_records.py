"""Numbers of the records in `results`, as the pages tell them."""

from pathlib import Path

import pytest

from recall.analysis.collection import gather
from recall.analysis.estimates import difference, estimate, rank
from recall.analysis.frames import analyse, list_of, select
from recall.analysis.metrics import FORGETTING, PERFORMANCE, TRANSFER

RESULTS = Path(__file__).parents[2] / "results"


@pytest.fixture(scope="module")
def cw3():
    return analyse(gather(RESULTS / "cw3", RESULTS / "reference")).scores


def test_recall_on_cw3(cw3):
    rows = select(cw3, label="RECALL")
    value, interval = estimate(rows, PERFORMANCE).estimate
    assert value == pytest.approx(0.8431, abs=5e-4)
    assert interval == pytest.approx((0.77, 0.92), abs=0.005)
    assert estimate(rows, FORGETTING).value == pytest.approx(-0.0236, abs=5e-4)
    assert estimate(rows, TRANSFER).value == pytest.approx(0.40, abs=0.005)


def test_recall_leads_on_cw3_and_clonex_cannot_be_told_from_it(cw3):
    groups = {label: select(cw3, label=label) for label in list_of(cw3, "label")}
    found = rank(groups, PERFORMANCE)
    assert (found.best, found.undecided) == ("RECALL", ("ClonEx",))
    value, interval = difference(groups["RECALL"], groups["ClonEx"], PERFORMANCE)
    assert value == pytest.approx(0.11, abs=0.005)
    assert interval == pytest.approx((-0.09, 0.31), abs=0.005)


@pytest.mark.parametrize(
    ("folder", "label", "expected"),
    [
        ("cw3-n-step", "RECALL", 0.99),
        ("cw10", "RECALL", 0.86),
        ("cw3-1m", "RECALL", 0.93),
        ("cw10", "ClonEx", 0.71),
    ],
)
def test_average_performance_of_other_records(folder, label, expected):
    scores = analyse(gather(RESULTS / folder)).scores
    (found,) = (each for each in list_of(scores, "label") if each.startswith(label))
    value = estimate(select(scores, label=found), PERFORMANCE).value
    assert value == pytest.approx(expected, abs=0.005)


def test_recall_transfers_against_the_shipped_reference():
    rows = analyse(gather(RESULTS / "cw3-n-step")).scores
    assert estimate(rows, TRANSFER).value == pytest.approx(0.60, abs=0.005)
