import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box

from recall.errors import BadValueError, UnknownNameError
from recall.worlds.gym_world import GymnasiumSimulator
from tests.factories.environments import counter, discrete, image, unbounded


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
        (Box(0, 3, (1,), np.int64), [0, 0, 1, 1, 2, 2, 3, 3, 3]),
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
    with pytest.raises(BadValueError, match=r"slot 0 of gym:Pendulum-v1.*250 steps"):
        simulator.step(np.zeros((1, 1)))


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


def test_unknown_ids_are_told_with_the_nearest():
    told = "unknown Gymnasium task 'gym:Pendulu-v1'; did you mean 'gym:Pendulum-v1'"
    with pytest.raises(UnknownNameError, match=told) as caught:
        GymnasiumSimulator("gym:Pendulu-v1", 1)
    assert len(str(caught.value)) < 400


def test_a_function_whose_environment_shows_nothing_says_so():
    simulator = GymnasiumSimulator(counter, 1, 10)
    simulator.reset(0, generator(0))
    with pytest.raises(BadValueError, match="render_mode None"):
        simulator.render(0)
