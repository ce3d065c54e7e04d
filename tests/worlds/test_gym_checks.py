"""Environments that do not answer as Gymnasium's do are refused with their name and the value."""

import re

import gymnasium
import numpy as np
import pytest

import recall
from recall.errors import BadValueError
from recall.worlds.gym_world import reports_success
from tests.factories.environments import Point, Unclosable, Unmakeable


class OldReset(Point):
    """Resets to an array of two numbers, which could be unpacked like a pair."""

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed)[0][:2]


class OldStep(Point):
    def step(self, action):
        return super().step(action)[:4]


def answering(**values):
    """Return a task whose steps return these values, by the names of Gymnasium's."""

    class Answering(Point):
        def step(self, action):
            names = ("observation", "reward", "terminated", "truncated", "info")
            return tuple((dict(zip(names, super().step(action), strict=True)) | values).values())

    return Answering


def play(env):
    env.reset(seed=0)
    return env.step(env.action_space.sample())


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        (OldStep, "step of OldStep returned 4 values"),
        (OldReset, "reset of OldReset returned 1 value"),
        (answering(observation=np.zeros((1, 3))), "observation of shape (1, 3)"),
        (answering(observation=["1", "2", "3"]), "['1', '2', '3']"),
        (answering(info=None), "None as its info"),
        (answering(terminated="False"), "'False' as terminated"),
        (answering(truncated=float("nan")), "nan as terminated or truncated"),
        (answering(terminated=-0.37), "-0.37 as terminated"),  # the reward in its place
        (answering(reward=None), "None as its reward"),
        (answering(reward=[[1], [1, 2]]), "[[1], [1, 2]] as its reward"),
        (answering(reward=1 + 2j), "(1+2j) as its reward"),
    ],
)
def test_answers_of_another_form_are_refused(task, reason):
    with pytest.raises(BadValueError, match=re.escape(reason)) as caught:
        play(recall.make(task, horizon=10))
    assert task.__name__ in str(caught.value)


@pytest.mark.parametrize("value", [2, np.float32(0.5), np.int64(-1), np.array([3.0]), True])
def test_a_number_may_have_any_real_type(value):
    assert play(recall.make(answering(reward=value), horizon=10))[1] == np.asarray(value).item()


@pytest.mark.parametrize("value", [True, 1, np.True_, np.array([True])])
def test_an_end_may_be_told_by_any_truth_value(value):
    for name in ("terminated", "truncated"):
        _, _, *ends, _ = play(recall.make(answering(**{name: value}), horizon=10))
        assert ends == [name == "terminated", name == "truncated"]


def train(task, folder):
    lengths = {"horizon_steps": 10, "steps_per_task": 100}
    recall.train("fine_tuning", [task], (0,), folder, preset="quick", hidden=(8,), **lengths)


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        (answering(reward=float("nan")), "step of Answering returned the reward nan"),
        (answering(observation=[0, np.nan, 0]), "Answering returned the observation [ 0. nan  0.]"),
    ],
)
def test_numbers_that_are_not_finite_are_refused_before_training(tmp_path, task, reason):
    """In an environment that is played otherwise they are a divergence, as in training."""
    with pytest.raises(BadValueError, match=re.escape(reason)):
        train(task, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    play(recall.make(task, horizon=10))


@pytest.mark.parametrize("key", ["success", "is_success"])
@pytest.mark.parametrize(
    ("value", "success"),
    [(True, True), (np.False_, False), (0.5, True), (-0.0, False),
     (np.array([[1]], np.uint8), True), *((value, None) for value in (
       "no", float("nan"), np.inf, None, 10**400, np.array([0, 1]), np.array(["yes"]), 1j))],
    ids=repr,
)  # fmt: skip
def test_success_is_a_truth_value_or_a_number(value, success, key):
    env = recall.make(answering(info={key: value}), horizon=10)
    if success is not None:
        assert play(env)[-1]["success"] is success
        return
    with pytest.raises(BadValueError, match=re.escape(f"returned {value!r} as success")):
        play(env)


@pytest.mark.parametrize(
    ("task", "told"),
    [
        (Unmakeable, "task Unmakeable: its constructor raised OSError: no licence left"),
        (Unclosable, "task Unclosable: close() raised OSError: the port is gone"),
        (lambda gravity: Point(), "its constructor raised TypeError: .*'gravity'"),
        (lambda: 3, "returned 3: a task's function must return"),
    ],
)
def test_a_constructor_or_a_close_that_fails_is_named(task, told):
    with pytest.raises(BadValueError, match=told.replace("()", r"\(\)")):
        recall.make(task, horizon=10).close()


ONE = Point()


def shared():
    return gymnasium.Wrapper(ONE)


def test_an_environment_that_is_given_twice_is_refused(tmp_path):
    reason = "shared gave the same environment twice"
    with pytest.raises(BadValueError, match=reason):
        recall.make_vec(shared, num_envs=3, horizon=10)
    with pytest.raises(BadValueError, match=reason):  # also with a single run, so a single slot
        train(shared, tmp_path / "run")


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
