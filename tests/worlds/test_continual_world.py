"""The simulator's contract, in all ten tasks."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from recall.errors import BadValueError
from recall.worlds.continual_world import TASKS, make_simulator, models
from recall.worlds.continual_world.starts import draw_vector
from recall.worlds.continual_world.tasks import load_task


def started(task, slots=1, reward="v1", observation="classic", seed=0):
    simulator = make_simulator(task, slots, reward, observation)
    first = [simulator.reset(slot, np.random.default_rng([seed, slot])) for slot in range(slots)]
    return simulator, np.array(first)


@pytest.mark.parametrize("task", TASKS)
def test_classic_is_part_of_full(task):
    classic, first_classic = started(task, 1, "v1", "classic")
    full, first_full = started(task, 1, "v1", "full")
    picked = np.r_[0:3, 4:7, 11:14, 36:39]
    pairs = [(first_classic[0], first_full[0])]
    for action in np.random.default_rng(3).uniform(-1, 1, (20, 1, 4)):
        pairs.append((classic.step(action).observation[0], full.step(action).observation[0]))
        assert full.observation_space.contains(pairs[-1][1])
    for ours, whole in pairs:
        expected = whole[picked]
        if task == "hammer":  # hand, hammer, zeros, goal: the nail is not shown
            expected[6:9] = 0.0
        np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("task", ["push", "shelf-place", "stick-pull", "window-close"])
def test_draws_keep_to_the_space_and_the_distance(task):
    declared, rng = load_task(task), np.random.default_rng(0)
    drawn = np.array([draw_vector(declared, rng) for _ in range(300)])
    assert ((drawn >= declared.reset_low) & (drawn <= declared.reset_high)).all()
    apart = np.hypot(*(drawn[:, :2] - drawn[:, -3:-1]).T)
    assert apart.min() >= {"push": 0.15, "shelf-place": 0.1, "stick-pull": 0.1}.get(task, 0.0)


def test_bad_vectors_are_refused_with_value_and_bounds():
    simulator = make_simulator("push")
    rng = np.random.default_rng(0)
    good = draw_vector(load_task("push"), rng)
    bad = {
        "expected": good[:3],
        r"outside of \[-0.1, 0.6, 0.02.*to \[0.1, 0.7": good + 1.0,
        "outside": np.where(np.arange(6) == 2, np.nan, good),
    }
    for told, vector in bad.items():
        with pytest.raises(BadValueError, match=f"push.*{told}"):
            simulator.reset(0, rng, {"rand_vec": vector})
    assert simulator.reset(0, rng, {"rand_vec": good.tolist()}).shape == (12,)


@pytest.mark.parametrize(("task", "field"), [("push", "qvel"), ("peg-unplug-side", "qpos")])
def test_a_simulation_that_breaks_down_ends_alone(task, field, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes its warnings to a file there
    simulator, _ = started(task, 3, "v2", "full")
    calm, _ = started(task, 3, "v2", "full")
    action = np.zeros((3, 4))
    before = simulator.step(action)
    calm.step(action)
    getattr(simulator._data[1], field)[:] = 1e12 if field == "qvel" else np.nan
    step, undisturbed = simulator.step(action), calm.step(action)
    assert step.diverged.tolist() == [False, True, False]
    np.testing.assert_array_equal(step.observation[1], before.observation[1])
    assert step.reward[1] == 0.0
    assert not step.success[1]
    for slot in (0, 2):
        np.testing.assert_array_equal(step.observation[slot], undisturbed.observation[slot])
        assert step.reward[slot] == undisturbed.reward[slot]
    # A reset mends it: the same vector gives what a fresh simulator gives.
    vector = {"rand_vec": draw_vector(load_task(task), np.random.default_rng(9))}
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(simulator.reset(1, rng, vector), calm.reset(1, rng, vector))
    for _ in range(3):
        mended, sound = simulator.step(action), calm.step(action)
        assert not mended.diverged.any()
        np.testing.assert_array_equal(mended.observation, sound.observation)


def thrown(metres: float):
    """Return a simulator of two slots, with the peg of the second one `metres` away."""
    simulator, _ = started("peg-unplug-side", 2)
    simulator.step(np.zeros((2, 4)))
    simulator._data[1].qpos[9] = metres
    simulator._is_current[1] = False
    return simulator


def test_an_object_that_was_thrown_away_is_a_divergence_which_ends_a_roll():
    action = np.zeros((2, 4))
    roll = thrown(150.0).roll(3)
    roll.open()
    assert roll.move(action) is None
    assert len(roll.close().reward) == 0
    for step in (thrown(150.0).step(action), roll.step_diverged()):
        assert step.diverged.tolist() == [False, True]
        assert step.reward[1] == 0.0
        assert np.abs(step.observation).max() < 2.0
    near = thrown(50.0).roll(3)
    near.open()
    assert near.move(action) is not None
    paid = thrown(50.0).step(action).reward
    assert near.close().reward[0].tolist() == paid.tolist()
    assert paid[1] < -40.0


def test_models_and_meshes_are_meta_worlds():
    assets = Path(models.__file__).parent / "assets"
    theirs = Path(find_spec("metaworld").origin).parent / "assets"
    shipped = [path for path in assets.rglob("*") if path.suffix in (".xml", ".stl")]
    assert len(shipped) > 10
    for path in shipped:
        assert path.read_bytes() == (theirs / path.relative_to(assets)).read_bytes(), path
    for task in TASKS:
        model = models.load_visual(load_task(task))
        assert model.ntex
        assert {model.camera(i).name for i in range(model.ncam)} == set(models.CAMERAS)
