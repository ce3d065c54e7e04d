"""Both criteria of success of every task, at both sides of their thresholds."""

from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium.spaces import Box

import recall
from recall.worlds.continual_world import make_simulator
from recall.worlds.continual_world.task import Start
from recall.worlds.continual_world.tasks import load_task
from recall.worlds.episodes import Episodes
from tests.factories.environments import Blank

TARGET = np.array([0.1, 0.7, 0.2])
NAIL = "NailSlideJoint"
PLANAR = ("push-wall", "push-back", "peg-unplug-side")


def judged(task, **positions):
    """Return both criteria for a scene with these positions, given from the target on."""
    scene = SimpleNamespace(
        **{name: (TARGET + position)[None] for name, position in positions.items()}
    )
    start = Start(TARGET[None], np.zeros((1, 3)), np.zeros((1, 3)))
    declared = load_task(task)
    return bool(declared.success_v1(scene, start)[0]), bool(declared.success_v2(scene, start)[0])


@pytest.mark.parametrize(
    ("task", "from_target", "expected"),
    [
        ("push", [0.0, 0.049, 0.0], (True, True)),
        ("push", [0.0, -0.069, 0.0], (True, False)),
        ("push", [0.071, 0.0, 0.0], (False, False)),
        ("push", [0.0, 0.0, 0.3], (True, False)),
        ("push-back", [0.05, 0.05, 0.0], (False, False)),
        *((task, [0.069, 0.0, 0.0], (True, True)) for task in PLANAR),
        *((task, [0.0, -0.071, 0.0], (False, False)) for task in PLANAR),
        # Right in the plane, but high.
        *((task, [0.0, 0.0, 0.3], (True, False)) for task in PLANAR),
        ("faucet-close", [0.049, 0.0, 0.0], (True, True)),
        ("faucet-close", [0.0, 0.0, 0.051], (False, True)),
        ("faucet-close", [0.0, 0.071, 0.0], (False, False)),
        # Only the height counts, to either side.
        ("handle-press-side", [0.5, -0.5, 0.019], (True, True)),
        ("handle-press-side", [0.0, 0.0, 0.039], (True, False)),
        ("handle-press-side", [0.0, 0.0, -0.039], (True, False)),
        ("handle-press-side", [0.0, 0.0, 0.041], (False, False)),
        ("handle-press-side", [0.0, 0.0, -0.041], (False, False)),
        ("shelf-place", [0.0, 0.0, 0.069], (True, True)),
        ("shelf-place", [0.0, 0.0, 0.079], (True, False)),
        ("shelf-place", [0.0, 0.0, 0.081], (False, False)),
        # Only the way of the window counts.
        ("window-close", [0.049, 0.5, -0.5], (True, True)),
        ("window-close", [-0.051, 0.0, 0.0], (False, False)),
    ],
)
def test_an_object_counts_as_brought_up_to_the_threshold(task, from_target, expected):
    assert judged(task, object=from_target) == expected


@pytest.mark.parametrize(
    ("handle", "fingers", "end", "expected"),
    [
        # The handle 7.9 cm from the goal and high, the fingers 4.9 cm from the stick.
        ([0.0, 0.079, 0.1], [0.049, 0.0, 0.0], [-0.1, 0.0, 0.0], (True, False)),
        ([0.0, 0.081, 0.0], [0.0, 0.0, 0.0], [0.1, 0.081, 0.0], (False, True)),
        ([0.0, 0.079, 0.0], [0.0, 0.0, 0.051], [0.1, 0.079, 0.0], (False, True)),
        ([0.121, 0.0, 0.0], [0.0, 0.0, 0.0], [0.2, 0.0, 0.0], (False, False)),
    ],
)
def test_stick_pull_needs_the_handle_and_the_stick(handle, fingers, end, expected):
    stick = [0.0, 0.0, 0.0]
    assert judged("stick-pull", second=handle, object=stick, fingers=fingers, stick_end=end) == (
        expected
    )


def set_nail(simulator, slot, depth):
    simulator._data[slot].joint(NAIL).qpos = depth
    simulator._data[slot].joint(NAIL).qvel = 0.0
    simulator._is_current[slot] = False


# The nail starts 10.5 cm from its target.
DEPTHS = {0.0: (False, False), 0.054: (False, False), 0.056: (True, False), 0.095: (True, True)}


@pytest.mark.parametrize("reward", ["v1", "v2"])
def test_hammer_is_judged_by_the_depth_of_the_nail(reward):
    simulator = make_simulator("hammer", len(DEPTHS), reward)
    for slot, depth in enumerate(DEPTHS):
        simulator.reset(slot, np.random.default_rng(slot))
        set_nail(simulator, slot, depth)
    step = simulator.step(np.zeros((len(DEPTHS), 4)))
    found = list(zip(*(step.criteria[f"success_{name}"] for name in ("v1", "v2")), strict=True))
    assert found == list(DEPTHS.values())
    assert np.array_equal(step.success, step.criteria[f"success_{reward}"])


HORIZON = 8


@pytest.mark.parametrize("rolls", [False, True])
def test_an_episode_remembers_its_successes_also_when_it_is_saved(rolls):
    """The nail is half in for one step, which meets one criterion of the two."""

    def going_on(stream):
        simulator = make_simulator("hammer", 1, "v1")
        return Episodes(simulator, HORIZON, [(stream,)])

    def play(episodes, steps):
        if not rolls:
            return [outcome for _ in range(steps) for outcome in episodes.step(still)[1]]
        roll = episodes.simulator.roll(HORIZON)
        roll.open()
        for _ in range(steps):
            roll.move(still)
        return episodes.count_rolled(roll.close())

    still = np.zeros((1, 4))
    original, copy = going_on(0), going_on(1)
    original.start(0)
    copy.start(0)
    set_nail(original.simulator, 0, 0.06)
    play(original, 1)
    set_nail(original.simulator, 0, 0.0)
    copy.set_state(0, original.get_state(0))
    for episodes in (original, copy):
        (outcome,) = play(episodes, HORIZON - 1)
        assert outcome.criteria == {"success_v1": True, "success_v2": False}
        assert (outcome.success, outcome.last_success) == (True, False)
        (outcome,) = play(episodes, HORIZON)  # the next episode begins anew
        assert outcome.criteria == {"success_v1": False, "success_v2": False}


class Alien(Blank):
    """A task of another world with the spaces of Continual World."""

    observation_space, action_space = Box(-1.0, 1.0, (12,)), Box(-1.0, 1.0, (4,))

    def reset(self, **arguments):
        super().reset(**arguments)
        return np.zeros(12, np.float32), {}

    def step(self, action):
        return np.zeros(12, np.float32), *super().step(action)[1:]


def test_a_vector_tells_the_criteria_that_all_of_its_tasks_have():
    env = recall.make_vec(["hammer", Alien], 2, horizon=9, workers=2)
    told = [env.reset(seed=0)[1], env.step(np.zeros((2, 4)))[4]]
    env.close()
    for infos in told:
        assert "success" in infos
        assert "success_v1" not in infos
