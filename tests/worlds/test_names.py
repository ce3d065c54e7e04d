"""Names of tasks, worlds and sequences, and what they choose."""

import subprocess
import sys

import numpy as np
import pytest

from recall.errors import BadValueError, UnknownNameError
from recall.settings import WorldSettings
from recall.worlds.registry import (
    default_horizon_steps,
    horizon_steps,
    task_names,
    tasks_of,
)
from recall.worlds.sequences import parse_sequence, sequence_names
from recall.worlds.task_names import as_tasks, chosen_positions, numbered, positions_of
from tests.factories.environments import counter

CW10 = (
    "hammer,push-wall,faucet-close,push-back,stick-pull,handle-press-side,push,shelf-place,"
    "window-close,peg-unplug-side"
)
CW3_6 = parse_sequence("cw3-6").tasks


def test_a_horizon_is_the_users_or_else_the_worlds():
    assert default_horizon_steps("window-close") == 200
    assert default_horizon_steps("gym:MountainCarContinuous-v0") == 999
    assert horizon_steps("window-close", WorldSettings(horizon_steps=30)) == 30
    with pytest.raises(BadValueError, match=r"counter declares no time limit"):
        default_horizon_steps(counter)


def test_names_are_listed_without_loading_mujoco_or_jax():
    program = """
import sys
import recall
from recall.worlds.registry import task_names
from recall.worlds.sequences import sequence_names
task_names(), sequence_names()
print([name for name in ("mujoco", "jax", "metaworld") if name in sys.modules])
"""
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert shown.stdout.decode().strip() == "[]"


def tasks(name):
    return parse_sequence(name).tasks


def test_the_papers_sequences_are_known_by_name():
    assert ",".join(tasks("cw10")) == CW10
    assert tasks("cw20") == 2 * tasks("cw10")
    assert tasks("cw3-1") == ("push", "window-close", "hammer")
    assert tasks("cw3-6") == ("stick-pull", "peg-unplug-side", "stick-pull")
    assert tasks("cw6-8") == 2 * tasks("cw3-8")
    assert tasks("pair-5-0") == ("handle-press-side", "hammer")
    assert tasks("pointworld") == tasks_of("pointworld")


def test_every_listed_sequence_is_made_of_known_tasks():
    names = sequence_names()
    assert len(names) == len(set(names)) == 8 + 8 + 2 + 100 + 1
    for name in names:
        assert set(tasks(name)) <= set(task_names())
    assert len(task_names()) == len(set(task_names())) >= 14


def test_a_sequence_of_ones_own():
    own = parse_sequence("push, gym:Pendulum-v1,push")
    assert own.tasks == ("push", "gym:Pendulum-v1", "push")
    assert own.name == "push,gym:Pendulum-v1,push"
    assert parse_sequence("point-rich").tasks == ("point-rich",)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("cw3-9", "unknown sequence 'cw3-9'; did you mean 'cw3-.*`recall list sequences`.*commas"),
        ("hamer", "unknown sequence 'hamer'; did you mean 'hammer'"),
        ("hammer,pushwall", "unknown task 'pushwall'; did you mean 'push-wall'"),
        ("Pendulum-v1", r"is gym:Pendulum-v1 here\."),
        ("", "empty task name"),
        ("hammer,,push", "empty task name"),
    ],
)
def test_unknown_names_are_told_with_the_nearest(name, told):
    with pytest.raises((UnknownNameError, BadValueError), match=told):
        parse_sequence(name)


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
