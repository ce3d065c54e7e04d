"""Functions that are given again to continue a fleet, and those that are refused."""

import re

import pytest

from recall.config.spec import make_spec
from recall.config.stored import spec_from
from recall.errors import BadValueError
from recall.settings import Settings
from tests.factories.environments import Blank


def left():
    return Blank()


def right():
    return Blank()


def drawn():
    return Blank("rgb_array")


def given(functions):
    """Return the tasks of a fleet on `left` and `right` that is read with these functions."""
    description = make_spec("fine_tuning", [left, right], (0,), Settings()).describe()
    (run,) = spec_from(description, functions).runs
    assert run.task_names == ("left", "right")
    return run.tasks


def test_functions_of_the_same_name_or_of_none_of_the_fleets_are_taken():
    assert given({"left": left, "right": right}) == (left, right)
    task, _ = given({"left": drawn, "right": lambda: None})
    assert task().render_mode == "rgb_array"


@pytest.mark.parametrize(
    ("functions", "reason"),
    [
        ({"left": right, "right": left}, "functions={'left': left, 'right': right}"),
        ({"left": left, "right": left}, "functions['right'] is left, the name of another task"),
        ({"left": left, "right": 3}, "task 3 is neither a name nor a function that makes"),
        ({"left": left, "right": Blank()}, "is an environment; give a function that makes it"),
        (left, "functions is <function left"),
        ([left, right], "give a dict from the names of tasks to their functions, here functions={"),
        ([], "functions is []: give a dict"),
        ({}, "its tasks are Python functions (left, right), which cannot be stored"),
        ({"left": left}, "its tasks are Python functions (right)"),
    ],
)
def test_functions_that_cannot_be_those_of_the_fleet_are_refused(functions, reason):
    with pytest.raises(BadValueError, match=re.escape(reason)):
        given(functions)
