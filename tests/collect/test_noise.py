"""Exploration noise: its distribution, its colour, and that it depends on the step alone."""

import numpy as np
import pytest

from recall.collect.noise import coloured, draw, draw_uniform

COLOURS = [0.5, 2.0]


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("steps", [200, 101])
def test_coloured_numbers_are_standard_normal(colour, steps):
    noise = coloured(np.random.default_rng(0), (steps, 20_000), colour)
    assert noise.shape == (steps, 20_000)
    assert np.allclose(noise.mean(axis=1), 0.0, atol=0.03)
    assert np.allclose(noise.std(axis=1), 1.0, atol=0.03)
    # About 4.55 % of a normal distribution lies beyond two standard deviations.
    assert np.mean(np.abs(noise) > 2.0) == pytest.approx(0.0455, abs=0.005)


@pytest.mark.parametrize("colour", COLOURS)
def test_power_falls_with_the_frequency(colour):
    noise = coloured(np.random.default_rng(1), (400, 4_000), colour)
    power = np.mean(np.abs(np.fft.rfft(noise, axis=0)) ** 2, axis=1)
    frequency = np.fft.rfftfreq(400)
    slope, _ = np.polyfit(np.log(frequency[1:-1]), np.log(power[1:-1]), 1)
    assert slope == pytest.approx(-colour, abs=0.02)
    assert np.allclose(noise.mean(axis=0), 0.0, atol=1e-12), "there is no constant part"


def test_actions_are_independent_of_each_other():
    many = [coloured(np.random.default_rng([2, n]), (200, 4), 1.0) for n in range(500)]
    between = np.mean([np.corrcoef(each.T) for each in many], axis=0)
    assert np.allclose(between, np.eye(4), atol=0.1)


@pytest.mark.parametrize("drawing", [draw, draw_uniform])
@pytest.mark.parametrize(("chunk", "horizon"), [(50, 200), (50, 130), (50, 20), (7, 20), (5, 1)])
def test_chunks_join_to_the_noise_of_the_whole_task(drawing, chunk, horizon):
    whole = drawing((3, 1), 0, (20 * chunk, 4), 1.0, horizon)
    parts = [
        drawing((3, 1), first, (chunk, 4), 1.0, horizon) for first in range(0, 20 * chunk, chunk)
    ]
    assert np.array_equal(np.concatenate(parts), whole)
    assert np.all(np.isfinite(whole))
    assert not np.array_equal(whole[:horizon], whole[2 * horizon : 3 * horizon])


@pytest.mark.parametrize("colour", [0.0, 1.0])
def test_runs_and_tasks_have_noise_of_their_own(colour):
    one, of_other_seed, of_other_task = (
        draw(stream, 100, (50, 4), colour, 200) for stream in [(0, 0), (1, 0), (0, 1)]
    )
    assert not np.array_equal(one, of_other_seed)
    assert not np.array_equal(one, of_other_task)


@pytest.mark.parametrize("colour", [0.0, 1.0, 2.0])
def test_random_actions_are_uniform(colour):
    drawn = [draw_uniform((seed, 0), 0, (200, 4), colour, 200) for seed in range(200)]
    actions = np.concatenate(drawn).ravel()
    assert np.all(np.abs(actions) < 1.0)
    shares, _ = np.histogram(actions, bins=10, range=(-1, 1))
    assert np.allclose(shares / actions.size, 0.1, atol=0.02)
