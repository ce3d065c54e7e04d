"""Values that differ by rounding alone are equal: in tables, in bold marks and in verdicts."""

import numpy as np
import pytest

from recall.analysis.bootstrap import Estimate, probability_of_improvement
from recall.analysis.collection import gather
from recall.analysis.frames import analyse
from recall.analysis.ties import settled
from recall.report.summary import verdicts
from recall.report.tables.cells import with_best_bold
from recall.report.tables.table import Cell
from tests.factories.folders import write_fleet
from tests.factories.tables import cell_of, tables_of

SEQUENCE = "push,hammer,window-close"
ONE, OTHER = (0.1, 0.2, 0.3), (0.3, 0.2, 0.1)


@pytest.fixture
def folder(tmp_path):
    """Two methods with the same successes in another order, whose means differ in the last bit."""
    assert np.mean(ONE) != np.mean(OTHER)
    for method, levels in (("recall", ONE), ("ewc", OTHER)):
        write_fleet(
            tmp_path / method, method, SEQUENCE, (0,), lambda s, place, t, own=levels: own[place]
        )
    return tmp_path


def test_what_rounding_adds_does_not_compare():
    assert 0.4 - 0.3 > 0.1
    np.testing.assert_array_equal(settled([0.4 - 0.3, np.nan]), [0.1, np.nan])
    assert settled(0.1 + 1e-8) > settled(0.1)


def test_a_tie_counts_half(folder):
    table = tables_of(folder)[f"{SEQUENCE}-improvement"]
    assert cell_of(table, "RECALL", "EWC").ours.value == 0.5
    ours, others = (np.array([np.mean(levels)]) for levels in (ONE, OTHER))
    assert probability_of_improvement(ours, others).value == 0.5


def test_equal_values_are_both_bold_and_no_verdict_prefers_one(folder):
    table = tables_of(folder)[SEQUENCE]
    name = "average performance"
    assert [cell_of(table, label, name).bold for label in ("RECALL", "EWC")] == [True, True]
    (verdict,) = verdicts(analyse(gather(folder)))
    assert "cannot be told from it" in verdict.sentences[0]


def test_intervals_that_touch_but_for_rounding_meet():
    touching = Cell(Estimate(0.8, (0.7, 0.8999999999999999)))
    apart = Cell(Estimate(0.8, (0.7, 0.89)))
    best = Cell(Estimate(0.9, (0.9, 0.9)))
    assert [each.bold for each in with_best_bold([touching, best, apart])] == [True, True, False]


def test_half_is_not_less_than_half(tmp_path):
    levels = (0.6, 0.7, 0.2)
    assert np.mean(levels) < 0.5
    pairs = ["pair-0-1", "pair-0-2"]
    write_fleet(tmp_path, "recall", pairs, range(3), lambda seed, *_: levels[seed])
    counts = tables_of(tmp_path)["pairs-counts"]
    assert cell_of(counts, "RECALL", "second task succeeds in less than half").ours.value == 0
