"""Copies of environments go on bit for bit as the original does."""

import contextlib
import copy
import pickle

import cloudpickle
import gymnasium
import numpy as np
import pytest

import recall
from recall.errors import BadValueError
from recall.worlds.continual_world import TASKS

COPIES = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
    "cloudpickle": lambda env: cloudpickle.loads(cloudpickle.dumps(env)),
}


def play(env, steps: int) -> list:
    """Play random actions of the environment's own action space, with resets where they fall."""
    played = []
    for _ in range(steps):
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        played += [observation, reward, terminated, truncated, info["success"]]
        if np.ndim(reward) == 0 and (terminated or truncated):
            played.append(env.reset()[0])
    return played


def assert_goes_on_equally(env, copies: list) -> None:
    """Play on in the original, then in each copy; all numbers are equal, and they change."""
    expected = play(env, 50)
    assert not np.array_equal(expected[0], expected[5])  # the observation moves
    for each in copies:
        for one, other in zip(play(each, 50), expected, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("variant", [("v1", "classic"), ("v2", "full")], ids="-".join)
def test_a_copied_robot_goes_on_as_the_original(task, variant):
    """37 steps into an episode of 60, so that what follows includes a reset."""
    env = recall.make(task, *variant, horizon=60)
    env.reset(seed=3)
    env.action_space.seed(4)
    play(env, 37)
    copies = [make(env) for make in COPIES.values()]
    assert_goes_on_equally(env, copies)


@pytest.mark.parametrize("task", ["push", "point-slide", "gym:Pendulum-v1"])
def test_a_copy_is_independent_of_the_original(task):
    """Neither stepping nor closing the original touches the copies."""
    env, twin = (recall.make(task, horizon=60) for _ in range(2))
    for each in (env, twin):
        each.reset(seed=1)
        each.action_space.seed(2)
        play(each, 5)
    copies = [make(env) for make in COPIES.values()]
    play(env, 30)
    env.close()
    assert_goes_on_equally(twin, copies)


def test_slots_and_wrapped_environments_are_copied():
    """A vector environment in this process, and what gymnasium.make wraps around a task."""
    slots = recall.make_vec(["push", "hammer"], num_envs=3, seed=0, horizon=30)
    slots.reset()
    slots.action_space.seed(1)
    play(slots, 17)
    assert_goes_on_equally(slots, [make(slots) for make in COPIES.values()])
    wrapped = gymnasium.make("ContinualWorld/push-v1", max_episode_steps=30)
    wrapped.reset(seed=0)
    wrapped.action_space.seed(1)
    play(wrapped, 17)
    assert_goes_on_equally(wrapped, [make(wrapped) for make in COPIES.values()])


def test_what_cannot_be_copied_exactly_is_refused():
    with contextlib.closing(recall.make_vec("point-slide", num_envs=2, workers=2)) as slots:
        slots.reset(seed=0)
        for make in COPIES.values():
            with pytest.raises(BadValueError, match="workers=1"):
                make(slots)
    env = recall.make("gym:Pendulum-v1")
    env.reset(seed=0, options={"x_init": 0.1})
    with pytest.raises(BadValueError, match="cannot be saved"):
        copy.deepcopy(env)
