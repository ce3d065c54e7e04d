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
