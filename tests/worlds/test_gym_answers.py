"""Environments that do not answer as Gymnasium's do are refused with their name and the reason."""

import re

import gymnasium
import numpy as np
import pytest

import recall
from recall.errors import BadValueError
from recall.worlds.gym_world import reports_success
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


def check_refused(task, reason, folder):
    """Play a task, then train on it: both are refused, and nothing is written."""
    with pytest.raises(BadValueError, match=re.escape(reason)) as caught:
        play(recall.make(task, horizon=10))
    assert task.__name__ in str(caught.value)
    with pytest.raises(BadValueError, match=re.escape(reason)):
        recall.train("fine_tuning", [Point, task], out=folder, horizon_steps=10)
    assert not folder.exists()


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
    check_refused(task, reason, tmp_path / "run")


def answering(**values):
    """Return a task whose steps return these values, by the names of Gymnasium's."""

    class Answering(Point):
        def step(self, action):
            names = ("observation", "reward", "terminated", "truncated", "info")
            return tuple((dict(zip(names, super().step(action), strict=True)) | values).values())

    return Answering


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"terminated": "False"}, "'False' as terminated: it must be True or False"),
        ({"terminated": None}, "None as terminated"),
        ({"terminated": 2}, "2 as terminated"),
        ({"terminated": np.array([False])}, "array([False]) as terminated"),
        ({"truncated": float("nan")}, "nan as truncated"),
        ({"reward": "1"}, "'1' as its reward: it must be one number"),
        ({"reward": 1 + 2j}, "(1+2j) as its reward"),
        ({"reward": np.array(1j)}, "array(0.+1.j) as its reward"),
        ({"reward": [1.0]}, "[1.0] as its reward"),
        ({"observation": ["1", "2", "3"]}, "the observation ['1', '2', '3']: it must hold real"),
        ({"observation": [None] * 3}, "the observation [None, None, None]: it must hold real"),
        ({"observation": np.full(3, 1j)}, "the observation array([0.+1.j, 0.+1.j, 0.+1.j]): it"),
    ],
)
def test_values_of_another_type_are_refused(tmp_path, values, reason):
    reason = f"step of Answering returned {reason}"
    check_refused(answering(**values), reason, tmp_path / "run")


@pytest.mark.parametrize(
    ("value", "told"),
    [(2, 2.0), (np.float32(0.5), 0.5), (np.int64(-1), -1.0), (np.array(3.0), 3.0), (True, 1.0)],
)
def test_a_reward_may_be_any_real_number(value, told):
    env = recall.make(answering(reward=value), horizon=10)
    env.reset(seed=0)
    assert env.step(env.action_space.sample())[1] == told


@pytest.mark.parametrize("value", [True, 1, np.True_, np.array(True)])
@pytest.mark.parametrize("name", ["terminated", "truncated"])
def test_an_end_may_be_told_by_any_truth_value(name, value):
    env = recall.make(answering(**{name: value}), horizon=10)
    env.reset(seed=0)
    _, _, terminated, truncated, _ = env.step(env.action_space.sample())
    assert (terminated, truncated) == (name == "terminated", name == "truncated")


class LostAtReset(Point):
    def reset(self, *, seed=None, options=None):
        return np.array([0, np.inf, 0], np.float32), {}


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        (answering(reward=float("nan")), "step of Answering returned nan as its reward: it must"),
        (answering(reward=np.float32(-np.inf)), "step of Answering returned -inf as its reward"),
        (answering(observation=[0, np.nan, 0]), "Answering returned the observation [ 0. nan  0.]"),
        (LostAtReset, "reset of LostAtReset returned the observation [ 0. inf  0.]: its numbers"),
    ],
)
def test_numbers_that_are_not_finite_are_refused_before_training(tmp_path, task, reason):
    """In an environment that is played otherwise they are a divergence, as in training."""
    lengths = {"horizon_steps": 10, "steps_per_task": 100}
    with pytest.raises(BadValueError, match=re.escape(reason)):
        recall.train(
            "fine_tuning", [task], out=tmp_path / "run", preset="quick", hidden=(8,), **lengths
        )
    assert not (tmp_path / "run").exists()
    play(recall.make(task, horizon=10))


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
    reason = f'step of Reporting returned {value!r} as info["{key}"]: it must be True or False'
    check_refused(reporting(value, key), reason, tmp_path / "run")


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


class Wrapped(gymnasium.Wrapper):
    """A wrapper of its own around an environment that others have too."""


ONE = Point()


def shared():
    return ONE


def shared_in_wrappers():
    return Wrapped(ONE)


@pytest.mark.parametrize("task", [shared, shared_in_wrappers])
def test_an_environment_that_is_given_twice_is_refused(tmp_path, task):
    reason = f"{task.__name__} gave the same environment twice: it must make a new one each time"
    with pytest.raises(BadValueError, match=reason):
        recall.make_vec(task, num_envs=3, horizon=10)
    with pytest.raises(BadValueError, match=reason):  # also with a single run, so a single slot
        recall.train(
            "fine_tuning", [task], (0,), tmp_path / "run", preset="quick", hidden=(8,),
            horizon_steps=10, steps_per_task=100,
        )  # fmt: skip
    assert not (tmp_path / "run").exists()


class Alone(Point):
    """Holds something that only one environment can have, as a simulator behind a port does."""

    held = False

    def __init__(self):
        if Alone.held:
            raise RuntimeError("the port is taken")
        Alone.held = True

    def close(self):
        Alone.held = False


def test_the_check_before_training_never_has_two_environments_open():
    assert not reports_success(Alone, 10)
    assert not Alone.held
