"""Names of tasks that occur more than once in a sequence, and what they choose."""

import numpy as np
import pytest

from recall.worlds.sequences import parse_sequence
from recall.worlds.task_names import as_tasks, chosen_positions, numbered, positions_of

CW3_6 = parse_sequence("cw3-6").tasks


def test_only_repeated_tasks_are_shown_with_a_number():
    assert numbered(CW3_6) == ["1 stick-pull", "peg-unplug-side", "3 stick-pull"]
    assert numbered(("push", "hammer")) == ["push", "hammer"]


@pytest.mark.parametrize(
    ("task", "positions"),
    [
        ("stick-pull", [0, 2]),
        ("1 stick-pull", [0]),
        ("3 stick-pull", [2]),
        ("2 stick-pull", []),
        ("2 peg-unplug-side", [1]),
        (np.int64(2), [2]),
        ("2", [2]),
        (-1, []),
        ("push", []),
    ],
)
def test_names_numbered_names_and_positions_choose_tasks(task, positions):
    assert positions_of(task, CW3_6) == positions


def test_several_tasks_are_chosen_in_the_order_of_the_sequence():
    assert chosen_positions(("3 stick-pull", 0, "1 stick-pull"), CW3_6) == [0, 2]
    assert chosen_positions(None, CW3_6) == [0, 1, 2]
    assert (as_tasks("push"), as_tasks(0), as_tasks(["push"])) == (("push",), (0,), ("push",))
    assert as_tasks(None) is None
