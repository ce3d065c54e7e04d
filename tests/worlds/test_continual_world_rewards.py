"""The classic rewards that the package has not, by hand from made-up positions."""

from types import SimpleNamespace

import numpy as np
import pytest

from recall.worlds.continual_world import make_simulator
from recall.worlds.continual_world.rewards import both, gaussian, long_tail
from recall.worlds.continual_world.task import Start
from recall.worlds.continual_world.tasks import pucks, tools


def paid(reward, grip, target, scene, **starts):
    """Return the reward of one slot: values of the scene, and of its start besides the target."""
    rows = SimpleNamespace(**{name: np.atleast_1d(value) for name, value in scene.items()})
    nowhere = np.zeros((1, 3))
    start = {name: np.array([value]) for name, value in starts.items()}
    return reward(rows, Start(np.array([target]), nowhere, nowhere, nowhere, **start), grip)[0]


@pytest.mark.parametrize(
    ("fingers", "puck", "grip", "expected"),
    [
        # 20 cm away on the table, at the start height 0.2: only the planar distance costs.
        ([0.0, 0.6, 0.2], [0.0, 0.8, 0.02], 1.0, -0.2),
        # 10 cm away and 5 cm too low: -0.1 - 2 * 0.05.
        ([0.1, 0.8, 0.15], [0.0, 0.8, 0.02], 1.0, -0.2),
        # Above the puck: the whole distance.
        ([0.0, 0.8, 0.12], [0.0, 0.8, 0.02], 1.0, -0.1),
        # At the puck, half closed, 0.2 to go: -0.03 + 0.5 / 50 + 1000 (e^-4 + e^-40).
        ([0.0, 0.8, 0.05], [0.0, 0.8, 0.02], 0.5, 18.2956388887),
        # Opening pays nothing; at the goal 1000 * 0.2 + 2000.
        ([0.0, 0.6, 0.02], [0.0, 0.6, 0.02], -1.0, 2200.0),
        # Far beyond the goal the term stops at zero: only the bonus of 1 / 50 is left.
        ([0.0, 1.6, 0.02], [0.0, 1.6, 0.02], 1.0, 0.02),
    ],
)
def test_reward_v1_of_push_back_is_the_formula(fingers, puck, grip, expected):
    scene = {"fingers": [fingers], "object": [puck]}
    reward = paid(pucks.push_back_v1, np.array([grip]), [0.0, 0.6, 0.02], scene, farthest=0.2)
    assert reward == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(
    ("latched", "fingers_z", "hammer_z", "grip", "expected"),
    [
        # On the table, the fingers 20 cm above.
        (False, 0.23, 0.03, 1.0, -0.2),
        # Half lifted, closed: 100 * 0.08 + 1 / 50.
        (False, 0.08, 0.08, 1.0, 8.02),
        # Lifted to 0.12: 100 * 0.12, and 0.1 + 0.1 to go of 1:
        # 1000 * 0.8 + 1000 (e^-4 + e^-40).
        (True, 0.12, 0.12, 0.0, 830.3156388887),
        # The latch holds at half the height, where without it only the lift pays.
        (True, 0.08, 0.08, 0.0, 830.3156388887),
        # But not for a dropped hammer: on the ground, 6 cm from the fingers.
        (True, 0.09, 0.03, 1.0, -0.06),
        # Nor for one held 11 cm away, where the lift is still paid: -0.11 + 12.
        (True, 0.19, 0.08, 1.0, 11.89),
    ],
)
def test_reward_v1_of_hammer_is_the_formula(latched, fingers_z, hammer_z, grip, expected):
    scene = {
        "fingers": [[0.0, 0.5, fingers_z]],
        "object": [[0.0, 0.5, hammer_z]],
        "head": [[0.24, 0.5, 0.11]],
        "nail_start": [[0.24, 0.57, 0.11]],
        "nail_depth": [[0.03]],  # the nail's head is at 0.6
        "latched": latched,
    }
    given = {"height": 0.03, "farthest": 1.0}
    reward = paid(tools.hammer_v1, np.array([grip]), [0.24, 0.7, 0.11], scene, **given)
    assert reward == pytest.approx(expected, abs=1e-8)


def test_hammer_v1_follows_the_nail_of_the_model():
    """The head is 5 mm in front of the nail's body, and goes where the joint moves it."""
    simulator = make_simulator("hammer")
    simulator.reset(0, np.random.default_rng(0))
    for depth in (0.0, 0.07):
        simulator._data[0].joint("NailSlideJoint").qpos = depth
        simulator._is_current[0] = False
        simulator.step(np.zeros((1, 4)))
        scene, nail = simulator.readings.scene, simulator._data[0].body("nail_link").xpos
        assert nail[1] == pytest.approx(0.64 + depth, abs=1e-3)
        np.testing.assert_allclose(tools.nail_head(scene)[0], nail - [0.0, 0.005, 0.0], atol=1e-12)


def test_hammer_v1_measures_its_start_against_the_nail():
    """x_max = |(x, y, lift height) - nail| + lift height + |y of nail - y of target|."""
    simulator = make_simulator("hammer")
    simulator.reset(0, np.random.default_rng(0), {"rand_vec": [0.1, 0.4, 0.0]})
    nail = simulator._data[0].site("nailHead").xpos
    target = simulator._data[0].site("goal").xpos
    lift = simulator._data[0].body("hammer").xpos[2] + 0.09
    expected = (
        np.sqrt((0.1 - nail[0]) ** 2 + (0.4 - nail[1]) ** 2 + (lift - nail[2]) ** 2)
        + lift
        + abs(nail[1] - target[1])
    )
    assert simulator.start.farthest[0] == pytest.approx(expected, abs=1e-12)
    assert expected > 0.4  # the package's own, hammer against hammer, is far less


def test_hammer_stays_picked_for_the_episode():
    simulator = make_simulator("hammer", 2, "v1", "full")
    rng = np.random.default_rng(0)
    for slot in range(2):
        simulator.reset(slot, rng, {"rand_vec": [0.1, 0.5, 0.0]})
    scene = simulator.readings.scene
    simulator._data[0].qpos[11] = 0.15  # the first slot's hammer, in the air; it will fall
    simulator._is_current[0] = False
    seen = []
    for _ in range(60):
        observation = simulator.step(np.zeros((2, 4))).observation
        seen.append((observation[0, 6] > 0.1, *scene.latched))
    assert seen[0] == (True, True, False)
    assert seen[-1] == (False, True, False)
    simulator.reset(0, rng)
    assert not scene.latched[0]


@pytest.mark.parametrize(
    ("stick_z", "handle", "target", "expected"),
    [
        # Held at 0.06, 10 cm from the handle: 6 + 1000 * 0.4 + 1000 (e^-1 + e^-10).
        (0.06, [0.1, 0.6, 0.06], [0.1, 0.3, 0.02], 773.9248411),
        # 4 cm from it, 0.1 to pull: 6 + 1000 * 0.46 + 1000 (e^-0.16 + e^-1.6)
        # + 1000 * 0.3 + 2000 (e^-1 + e^-10).
        (0.06, [0.04, 0.6, 0.06], [0.04, 0.5, 0.02], 2555.8899892),
        # Not yet picked: 100 * 0.04 for lifting, nothing for the handle.
        (0.04, [0.04, 0.6, 0.04], [0.04, 0.5, 0.02], 4.0),
        # On the ground nothing.
        (0.02, [0.04, 0.6, 0.02], [0.04, 0.5, 0.02], 0.0),
    ],
)
def test_reward_v1_of_stick_pull_is_the_formula(stick_z, handle, target, expected):
    stick = [0.0, 0.6, stick_z]
    scene = {"fingers": [stick], "object": [stick], "second": [handle]}
    given = {"height": 0.02, "farthest": 0.5, "farthest_pull": 0.4}
    reward = paid(tools.stick_pull_v1, np.zeros(1), target, scene, **given)
    assert reward == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("task", "least"),
    [
        ("stick-pull", 1000.0),  # the package's own never pays more than 6
        ("hammer", 900.0),  # 700 if the nail stayed where it was
    ],
)
def test_reward_v1_pays_for_the_whole_of_a_task_with_two_parts(task, least):
    from tests.worlds.test_continual_world_agreement import scripted_policy

    simulator = make_simulator(task, 1, "v1", "full")
    observation = simulator.reset(0, np.random.default_rng(2))
    policy = scripted_policy(task)
    best = 0.0
    for _ in range(150):
        step = simulator.step(np.clip(policy.get_action(observation), -1, 1)[None])
        observation, best = step.observation[0], max(best, step.reward[0])
    assert best > least


def test_tolerances_fall_to_a_tenth_at_the_margin():
    x = np.array([0.0, 0.5, 0.7, 1.0])
    np.testing.assert_allclose(long_tail(x, 0.1, 0.5, 0.2), [1 / 3.25, 1, 0.1, 1 / 57.25])
    np.testing.assert_allclose(gaussian(x, 0.0, 0.5, 0.2)[1:3], [1.0, 0.1])
    # No margin: all or nothing, and no warning.
    np.testing.assert_array_equal(long_tail(x, 0.0, 0.5, 0.0).round(9), [1, 1, 0, 0])


def test_both_is_one_only_if_both_values_are():
    a, b = np.array([0.0, 1.0, 0.5, 0.0]), np.array([0.0, 1.0, 0.5, 1.0])
    np.testing.assert_allclose(both(a, b), [0.0, 1.0, 1 / 3, 0.0])
