"""What `recall.worlds.simulator.Simulator` promises, for every registered task."""

import numpy as np
import pytest

from recall.settings import WorldSettings
from recall.worlds.registry import make_simulator, task_names
from recall.worlds.simulator import Simulator

pytestmark = pytest.mark.parametrize("task", [*task_names(), "gym:Pendulum-v1"])
SLOTS = 3


def started(task: str, slots: int = SLOTS, seeds: range = range(SLOTS)) -> Simulator:
    simulator = make_simulator(task, slots, WorldSettings())
    for slot, seed in zip(range(slots), seeds, strict=True):
        simulator.reset(slot, np.random.default_rng(seed))
    return simulator


def actions_for(simulator: Simulator, steps: int) -> np.ndarray:
    size = simulator.action_space.shape[0]
    return np.random.default_rng(11).uniform(-1.5, 1.5, (steps, SLOTS, size))


def test_observations_and_actions_have_the_shapes_of_their_spaces(task):
    simulator = make_simulator(task, SLOTS, WorldSettings())
    assert (simulator.task, simulator.slots) == (task, SLOTS)
    assert np.array_equal(simulator.action_space.low, -np.ones(simulator.action_space.shape))
    assert np.array_equal(simulator.action_space.high, np.ones(simulator.action_space.shape))
    for slot in range(SLOTS):
        first = simulator.reset(slot, np.random.default_rng(slot))
        assert first.shape == simulator.observation_space.shape
        assert simulator.observation_space.contains(first.astype(simulator.observation_space.dtype))
    result = simulator.step(np.zeros((SLOTS, *simulator.action_space.shape)))
    assert result.observation.shape == (SLOTS, *first.shape)
    assert (result.observation.dtype, result.reward.dtype) == (np.float64, np.float64)
    for flag in (result.terminated, result.truncated, result.success, result.diverged):
        assert (flag.shape, flag.dtype) == ((SLOTS,), bool)


def test_a_slot_is_alone_with_its_generator_and_its_actions(task):
    together = started(task)
    alone = started(task, 1, range(1, 2))
    for action in actions_for(together, 25):
        ours, own = together.step(action), alone.step(action[1:2])
        for field in ("observation", "reward", "success"):
            assert np.array_equal(getattr(ours, field)[1], getattr(own, field)[0]), field


def test_actions_beyond_the_box_are_clipped(task):
    clipped, wild = started(task), started(task)
    for action in actions_for(clipped, 5):
        ours, theirs = clipped.step(np.clip(action, -1, 1)), wild.step(action)
        assert np.array_equal(ours.observation, theirs.observation)


def test_a_saved_state_goes_on_bit_for_bit_in_another_simulator(task):
    original = started(task)
    actions = actions_for(original, 40)
    for action in actions[:20]:
        original.step(action)
    states = [original.get_state(slot) for slot in range(SLOTS)]
    assert all((s.shape, s.dtype) == ((original.state_size,), np.float64) for s in states)
    copy = started(task, SLOTS, range(50, 50 + SLOTS))
    for slot, state in enumerate(states[::-1]):
        copy.set_state(slot, state)
    for action in actions[20:]:
        ours, theirs = original.step(action), copy.step(action[::-1])
        for field in ("observation", "reward", "success"):
            assert np.array_equal(getattr(ours, field), getattr(theirs, field)[::-1]), field


def test_a_reset_forgets_what_was_before(task):
    used, fresh = started(task), started(task, SLOTS, range(7, 7 + SLOTS))
    for action in actions_for(used, 10):
        used.step(action)
    for slot in range(SLOTS):
        used.reset(slot, np.random.default_rng(7 + slot))
    for action in actions_for(used, 10):
        assert np.array_equal(used.step(action).observation, fresh.step(action).observation)
