"""Against the real Meta-World: same vector, same actions, same numbers."""

import importlib
import warnings

import gymnasium
import numpy as np
import pytest

from recall.worlds.continual_world import TASKS, make_simulator
from recall.worlds.continual_world.starts import draw_vector
from recall.worlds.continual_world.tasks import load_task

STEPS = 200
# Promised are 1e-6; anything above rounding would mean that the physics have parted.
TOLERANCE = 1e-10
# Where the package's own v1 follows the formulas.
PACKAGE_V1 = sorted(set(TASKS) - {"hammer", "stick-pull", "push-back"})


def imported(module):
    """Import a module of Meta-World, and forget what it registers with Gymnasium.

    Every worker process that any later test starts would import it too.
    """
    registered = dict(gymnasium.registry)
    found = importlib.import_module(f"metaworld.{module}")
    gymnasium.registry.clear()
    gymnasium.registry.update(registered)
    return found


def metaworld_environment(task, reward="v2"):
    environment = imported("env_dict").ALL_V3_ENVIRONMENTS[f"{task}-v3"](
        reward_function_version=reward
    )
    environment._set_task_called = True
    environment._partially_observable = False
    environment._freeze_rand_vec = True
    del environment.sawyer_observation_space  # cached while the goal was hidden
    return environment


def scripted_policy(task):
    name = "".join(word.capitalize() for word in task.split("-"))
    return getattr(imported("policies"), f"Sawyer{name}V3Policy")()


def compare(task, reward, noise, seed):
    """Play an episode in both; return the largest differences."""
    rng = np.random.default_rng(seed)
    theirs, ours = metaworld_environment(task, reward), make_simulator(task, 1, reward, "full")
    policy = scripted_policy(task)
    theirs._last_rand_vec = draw_vector(load_task(task), rng)
    expected, _ = theirs.reset()
    first = ours.reset(0, rng, {"rand_vec": theirs._last_rand_vec})
    differences = [(np.abs(first - expected).max(), 0.0, False)]
    for _ in range(STEPS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # policies warn of their own large actions
            action = np.clip(policy.get_action(expected), -1, 1)
        if noise is not None:
            # In double precision; the policies act in single, which both must keep.
            action = np.clip(noise * action + rng.uniform(-1, 1, 4), -1, 1)
        expected, paid, _, _, info = theirs.step(action)
        step = ours.step(action[None])
        apart = np.abs(step.observation[0] - expected).max()
        differences.append(
            (apart, abs(step.reward[0] - paid), (info["success"] > 0) != step.success[0])
        )
    return np.max(differences, axis=0)


@pytest.mark.parametrize("noise", [None, 0.7], ids=["scripted", "mixed"])
@pytest.mark.parametrize("task", TASKS)
def test_v2_and_full_agree_with_the_package(task, noise):
    observation, paid, success = compare(task, "v2", noise, seed=3)
    assert observation <= TOLERANCE
    # From single-precision actions the package computes part of a reward in single precision.
    assert paid <= (1e-6 if noise is None else TOLERANCE)
    assert not success


@pytest.mark.parametrize("task", PACKAGE_V1)
def test_v1_agrees_with_the_package_where_it_is_right(task):
    observation, paid, _ = compare(task, "v1", noise=None, seed=4)
    assert observation <= TOLERANCE
    assert paid <= 1e-8  # rewards reach 2200, so this is rounding too


def test_vectors_come_from_the_packages_own_spaces():
    for task in TASKS:
        theirs = metaworld_environment(task)
        ours = load_task(task)
        np.testing.assert_array_equal(ours.reset_low, theirs._random_reset_space.low)
        np.testing.assert_array_equal(ours.reset_high, theirs._random_reset_space.high)
