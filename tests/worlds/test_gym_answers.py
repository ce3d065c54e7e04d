"""Environments that do not answer as Gymnasium's do are refused with their name and the reason."""

import re

import numpy as np
import pytest

import recall
from recall.errors import BadValueError
from tests.factories.own_tasks import Point


class OldStep(Point):
    def step(self, action):
        observation, reward, terminated, _, info = super().step(action)
        return observation, reward, terminated, info


class OldReset(Point):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed)[0]


class OldResetOfTwo(Point):
    """Resets to an array of two numbers, which could be unpacked like a pair."""

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed)[0][:2]


class NoSeed(Point):
    def reset(self):
        return super().reset()


class LongObservation(Point):
    def reset(self, *, seed=None, options=None):
        return np.zeros(4, np.float32), {}


class LaterLongObservation(Point):
    def step(self, action):
        return np.zeros((1, 3), np.float32), *super().step(action)[1:]


class NoReward(Point):
    def reward(self):
        return None


class NoInfo(Point):
    def step(self, action):
        return *super().step(action)[:-1], None


def play(env):
    env.reset(seed=0)
    env.step(env.action_space.sample())


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        (OldStep, "step of OldStep returned 4 values; Gymnasium's returns 5: observation, reward,"),
        (OldReset, "reset of OldReset returned one ndarray; Gymnasium's returns 2: observation"),
        (OldResetOfTwo, "reset of OldResetOfTwo returned one ndarray; Gymnasium's returns 2"),
        (NoSeed, "def reset(self, *, seed=None, options=None)"),
        (LongObservation, "reset of LongObservation returned an observation of shape (4,), but"),
        (LaterLongObservation, "returned an observation of shape (1, 3), but its observation_"),
        (NoReward, "step of NoReward returned None as its reward"),
        (NoInfo, "step of NoInfo returned None as its info"),
    ],
)
def test_answers_of_another_form_are_refused(tmp_path, task, reason):
    with pytest.raises(BadValueError, match=re.escape(reason)) as caught:
        play(recall.make(task, horizon=10))
    assert task.__name__ in str(caught.value)
    with pytest.raises(BadValueError, match=re.escape(reason)):
        recall.train("fine_tuning", [Point, task], out=tmp_path / "run", horizon_steps=10)
    assert not (tmp_path / "run").exists()


def reporting(value, key="success"):
    class Reporting(Point):
        def step(self, action):
            return *super().step(action)[:-1], {key: value}

    return Reporting


@pytest.mark.parametrize("key", ["success", "is_success"])
@pytest.mark.parametrize(
    "value",
    ["no", "False", float("nan"), np.inf, [False], {"a": 1}, None, 10**400, np.array([0, 1]),
     np.array([]), np.array(["yes"]), np.array([None]), 1j],
    ids=repr,
)  # fmt: skip
def test_only_a_truth_value_or_a_number_is_success(tmp_path, value, key):
    task = reporting(value, key)
    told = re.escape(
        f'step of Reporting returned {value!r} as info["{key}"]: it must be True or False'
    )
    with pytest.raises(BadValueError, match=told):
        play(recall.make(task, horizon=10))
    with pytest.raises(BadValueError, match=told):
        recall.train("fine_tuning", [Point, task], out=tmp_path / "run", horizon_steps=10)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("value", "success"),
    [(True, True), (False, False), (np.True_, True), (np.False_, False), (1, True), (0, False),
     (0.5, True), (-0.0, False), (np.float32(1), True), (np.int64(0), False),
     (np.array(True), True), (np.array([0.0]), False), (np.array([[1]], np.uint8), True)],
)  # fmt: skip
def test_success_may_be_a_number(value, success):
    env = recall.make(reporting(value), horizon=10)
    env.reset(seed=0)
    assert env.step(env.action_space.sample())[-1]["success"] is success


def test_a_type_error_of_the_task_itself_is_left_as_it_is():
    class Confused(Point):
        def reset(self, *, seed=None, options=None):
            return None + seed

    with pytest.raises(TypeError, match="unsupported operand"):
        play(recall.make(Confused, horizon=10))


def test_a_function_that_needs_an_argument_is_refused():
    def pendulum(gravity):
        raise AssertionError("it is never called")

    with pytest.raises(BadValueError, match=r"pendulum is called without arguments.*'gravity'"):
        recall.make(pendulum)


def test_a_function_whose_arguments_have_defaults_is_a_task():
    def point(gravity=10):
        return Point()

    play(recall.make(point, horizon=10))
