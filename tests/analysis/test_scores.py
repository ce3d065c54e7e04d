"""Scores of labels on sequences: what sequences share, and means over them."""

import pytest

from recall.analysis.collection import Collection
from recall.analysis.measures import PERFORMANCE, TRANSFER
from recall.analysis.over_sequences import mean_over
from recall.analysis.scores import ScoreBoard
from tests.factories.runs import made_run

FIRST, SECOND = "push,hammer", "push,window-close"


def made_board(first_seeds=2, second_seeds=2, alone=()):
    """RECALL on two sequences, and fine-tuning on some tasks alone."""
    runs = [made_run("recall", FIRST, seed) for seed in range(first_seeds)]
    runs += [made_run("recall", SECOND, seed) for seed in range(second_seeds)]
    references = [made_run("fine_tuning", task, seed) for task in alone for seed in range(2)]
    return ScoreBoard(Collection(tuple(runs), reference_runs=tuple(references)))


def test_a_label_draws_from_the_same_seeds_on_all_sequences_even_if_one_lacks_a_seed():
    board = made_board(first_seeds=5, second_seeds=4)
    first, second = board.get("RECALL", FIRST), board.get("RECALL", SECOND)
    assert [run.seed for run in second.runs] == [0, 1, 2, 3]
    assert first.seeds == second.seeds == (0, 1, 2, 3, 4)
    assert first.name == second.name


def test_a_mean_over_sequences_needs_a_number_of_each():
    board = made_board(alone=("push", "hammer"))
    first, second = board.among(["RECALL"], [FIRST, SECOND])
    assert second.missing_references == ["window-close"]
    assert mean_over([first], TRANSFER).value == pytest.approx(first.forward_transfer.value)
    assert mean_over([first, second], TRANSFER) is None
    both = [each.performance.value for each in (first, second)]
    assert mean_over([first, second], PERFORMANCE).value == pytest.approx(sum(both) / 2)
