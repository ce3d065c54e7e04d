"""Gymnasium's environments as tasks: scaled actions, and answers of another form are refused."""

import re

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box

import recall
from recall.errors import BadValueError
from recall.worlds.gym_world import GymnasiumSimulator, reports_success
from tests.factories.environments import (
    Point,
    Unclosable,
    Unmakeable,
    counter,
    discrete,
    image,
    unbounded,
)


def generator(seed):
    return np.random.default_rng(seed)


def test_actions_are_rescaled_from_one_box_to_the_other():
    simulator = GymnasiumSimulator(counter, 5, 10)
    for slot in range(5):
        simulator.reset(slot, generator(0))
    result = simulator.step(np.array([[-1.0], [0.0], [1.0], [0.25], [7.0]]))
    assert result.observation[:, 1].tolist() == [2.0, 4.0, 6.0, 4.5, 6.0]


@pytest.mark.parametrize(
    ("box", "taken"),
    [
        (Box(-2, 1, (1,), np.int8), [-2, -2, -1, -1, 0, 0, 1, 1, 1]),
        (Box(0, 255, (1,), np.uint8), [0, 63, 64, 127, 128, 191, 192, 255, 255]),
        (Box(np.array([False]), np.array([True]), dtype=np.bool_), [0, 0, 0, 0, 1, 1, 1, 1, 1]),
        (Box(5, 5, (1,), np.int32), [5] * 9),
    ],
)
def test_the_integers_of_a_box_have_equal_shares_of_the_actions(box, taken):
    """The lowest and the highest too, of which rounding would leave half a share or none."""

    def whole():
        env = counter()
        env.action_space = box
        return env

    simulator = GymnasiumSimulator(whole, 9, 10)
    for slot in range(9):
        simulator.reset(slot, generator(0))
    actions = np.array([-1.0, -0.501, -0.5, -0.001, 0.0, 0.499, 0.5, 0.999, 1.0], np.float32)
    assert simulator.step(actions[:, np.newaxis]).observation[:, 1].tolist() == taken
    assert simulator._own_action(np.ones(1)).dtype == box.dtype


def test_a_trajectory_is_the_environments_own():
    simulator = GymnasiumSimulator("gym:Pendulum-v1", 1)
    env = gymnasium.make("Pendulum-v1")
    first = simulator.reset(0, generator(5))
    theirs, _ = env.reset(seed=int(generator(5).integers(2**31)))
    assert np.array_equal(first, theirs)
    for action in generator(1).uniform(-1, 1, (200, 1)):
        result = simulator.step(action[np.newaxis])
        theirs, reward, _, truncated, _ = env.step((2 * action).astype(np.float32))
        assert np.array_equal(result.observation[0], theirs)
        assert result.reward[0] == reward
        assert result.truncated[0] == truncated
    assert truncated, "Gymnasium's time limit is the task's own truncation"


def test_a_horizon_replaces_the_environments_own_limit():
    simulator = GymnasiumSimulator("gym:Pendulum-v1", 1, 250)
    simulator.reset(0, generator(0))
    ends = [bool(simulator.step(np.zeros((1, 1))).truncated[0]) for _ in range(250)]
    assert ends == [False] * 249 + [True]


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (discrete, ("actions of discrete", "Discrete(3)", "Box")),
        (image, ("observations of image", "(8, 8, 3)")),
        (unbounded, ("actions of unbounded", "inf", "finite")),
        ("gym:CartPole-v1", ("actions of gym:CartPole-v1", "Discrete(2)")),
    ],
)
def test_spaces_that_cannot_be_used_are_refused(task, words):
    with pytest.raises(BadValueError) as caught:
        GymnasiumSimulator(task, 1, 10)
    assert all(word in str(caught.value) for word in words)


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
        (answering(terminated=-0.37), "-0.37 as terminated"),  # the reward in its place
        (answering(reward=None), "None as its reward"),
    ],
)
def test_answers_of_another_form_are_refused(task, reason):
    with pytest.raises(BadValueError, match=re.escape(reason)) as caught:
        play(recall.make(task, horizon=10))
    assert task.__name__ in str(caught.value)


def test_numbers_and_ends_may_have_any_real_type():
    for value in (True, 1, np.True_, np.float32(1.0), np.array([True])):
        for name in ("reward", "terminated", "truncated"):
            _, *values, _ = play(recall.make(answering(**{name: value}), horizon=10))
            assert values == [1.0, name == "terminated", name == "truncated"]


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


def test_success_is_a_truth_value_or_a_number():
    for value, success in ((np.False_, False), (0.5, True), (np.array([[1]], np.uint8), True)):
        for key in ("success", "is_success"):
            env = recall.make(answering(info={key: value}), horizon=10)
            assert play(env)[-1]["success"] is success
    for value in ("no", float("nan"), np.inf, None, 10**400, np.array([0, 1]), np.array(["yes"])):
        with pytest.raises(BadValueError, match=re.escape(f"returned {value!r} as success")):
            play(recall.make(answering(info={"success": value}), horizon=10))


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
