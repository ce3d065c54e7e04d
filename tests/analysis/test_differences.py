"""Differences between two labels, seed by seed, with Student's t intervals."""

import pytest

from recall.analysis.collection import gather
from recall.analysis.estimates import difference, mean_difference, rank
from recall.analysis.frames import analyse, select
from recall.analysis.measures import FORGETTING, PERFORMANCE
from tests.factories.folders import write_fleet


def level(*values):
    """A success for each seed, at every step."""
    return lambda seed, position, step: values[seed]


def groups_in(folder):
    scores = analyse(gather(folder)).scores
    return {label: select(scores, label=label) for label in ("RECALL", "EWC")}


def test_paired_differences_are_narrower_than_the_spread_of_seeds(tmp_path):
    """Seeds differ a lot, but in every one of them RECALL is better by 0.1."""
    seeds = range(5)
    write_fleet(tmp_path / "a", "recall", "push,hammer", seeds, level(0.2, 0.9, 0.4, 0.6, 0.5))
    write_fleet(tmp_path / "b", "ewc", "push,hammer", seeds, level(0.1, 0.8, 0.3, 0.5, 0.4))
    groups = groups_in(tmp_path)
    found = difference(*groups.values(), PERFORMANCE)
    assert (found.value, *found.interval) == pytest.approx((0.1, 0.1, 0.1))
    assert difference(*groups.values(), FORGETTING).value == 0.0
    assert rank(groups, PERFORMANCE).bold == {"RECALL"}


def test_differences_have_the_t_interval_of_the_seeds_means_over_sequences(tmp_path):
    seeds = range(3)
    write_fleet(tmp_path / "a", "recall", "cw3-1", seeds, level(0.5, 0.6, 0.7))
    write_fleet(tmp_path / "b", "recall", "cw3-2", seeds, level(0.9, 0.6, 0.9))
    for sequence in ("cw3-1", "cw3-2"):
        write_fleet(tmp_path / f"ewc-{sequence}", "ewc", sequence, seeds, level(0.4, 0.4, 0.4))
    # By seed 0.3, 0.2 and 0.4: a standard error of 0.1 / sqrt(3), and t is 2.91999 at 95 %.
    found = difference(*groups_in(tmp_path).values(), PERFORMANCE)
    side = 2.91999 * 0.1 / 3**0.5
    assert found.value == pytest.approx(0.3)
    assert found.interval == pytest.approx((0.3 - side, 0.3 + side), abs=1e-5)


def test_a_difference_is_of_the_seeds_that_all_sequences_have():
    few = mean_difference([{0: 0.1, 1: 0.2, 2: 0.9}, {0: 0.3, 1: 0.4}])
    # Means by seed 0.2 and 0.3: a standard error of 0.05, and t is 6.3138 at 95 %.
    assert few.value == pytest.approx(0.25)
    assert few.interval[1] - few.value == pytest.approx(6.3138 * 0.05, abs=1e-4)
    one = mean_difference([{0: 0.1, 1: 0.2}, {1: 0.3, 2: 0.4}])
    assert one == (pytest.approx(0.25), None)


def test_a_seed_that_failed_on_one_sequence_does_not_decide(tmp_path):
    """Both are equal in every seed that they have on both sequences."""
    both, seeds = ["cw3-1", "cw3-2"], range(3)
    write_fleet(tmp_path / "a", "recall", both, seeds, level(0.5, 0.5, 0.9))
    failed = {"ewc-cw3-2-seed2": 500}
    write_fleet(tmp_path / "b", "ewc", both, seeds, level(0.5, 0.5, 0.3), failed=failed)
    groups = groups_in(tmp_path)
    assert difference(*groups.values(), PERFORMANCE) == (0.0, (0.0, 0.0))
    assert len(rank(groups, PERFORMANCE).undecided) == 1


def test_a_single_seed_has_a_difference_without_an_interval_and_no_rank(tmp_path):
    write_fleet(tmp_path / "a", "recall", "push,hammer", (0,), level(0.5))
    write_fleet(tmp_path / "b", "ewc", "push,hammer", (0,), level(0.4))
    groups = groups_in(tmp_path)
    assert difference(*groups.values(), PERFORMANCE) == (pytest.approx(0.1), None)
    assert rank(groups, PERFORMANCE).best is None
