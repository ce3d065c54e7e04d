"""Families of sequences: which ones share tables and figures."""

import pytest

from recall.analysis import labels


@pytest.mark.parametrize(
    ("sequence", "family", "number"),
    [
        ("cw3-1", "cw3", "1"),
        ("cw6-8", "cw6", "8"),
        ("cw10", "cw10", ""),
        ("cw20", "cw20", ""),
        ("pair-5-0", "pairs", ""),
        ("mine-2", "mine", "2"),
        ("push,hammer", "push,hammer", ""),
        ("push,hammer-2", "push,hammer-2", ""),
        ("pair-5", "pair", "5"),
    ],
)
def test_the_family_of_a_sequence(sequence, family, number):
    assert labels.family_of(sequence) == family
    assert labels.number_in_family(sequence) == number


def test_sequences_by_family():
    assert labels.by_family(["cw3-2", "cw10", "cw3-1", "pair-1-2", "pair-2-1"]) == {
        "cw3": ["cw3-2", "cw3-1"],
        "cw10": ["cw10"],
        "pairs": ["pair-1-2", "pair-2-1"],
    }
    assert [labels.family_title(name) for name in ("cw3", "pairs", "mine")] == [
        "CW3", "Pairs of tasks", "mine"
    ]  # fmt: skip
