"""Stable-Baselines3 trains on our environments, and reports their success."""

import numpy as np
import pytest

import recall
from recall.errors import BadValueError
from tests.factories.environments import counter

SMALL = {"learning_starts": 10, "batch_size": 8, "policy_kwargs": {"net_arch": [8]}, "seed": 0}


@pytest.fixture(scope="module", autouse=True)
def sb3():
    """The package, which imports PyTorch: not before a test needs it."""
    return pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed")


def test_its_checker_finds_nothing():
    from stable_baselines3.common.env_checker import check_env

    check_env(recall.make("push"), warn=False, skip_render_check=True)


def test_the_success_rate_is_that_of_the_episodes(sb3):
    """SAC on the counter, which succeeds in every episode and not in its last step."""
    model = sb3.SAC("MlpPolicy", recall.make(counter, horizon=5), **SMALL)
    model.learn(30)
    assert list(model.ep_success_buffer) == [True] * 6
    model = sb3.SAC("MlpPolicy", recall.make("push", horizon=5), **SMALL)
    model.learn(15)
    assert list(model.ep_success_buffer) == [False] * 3


@pytest.mark.parametrize("workers", [1, 2])
def test_our_slots_equal_its_own_vector_of_our_environments(workers):
    """Observations, rewards, ends and infos are those of its DummyVecEnv, step by step."""
    from stable_baselines3.common.env_util import make_vec_env

    ours = recall.make_sb3_vec("point-poor", 3, horizon=7, workers=workers)
    theirs = make_vec_env(lambda: recall.make("point-poor", horizon=7), 3)
    for env in (ours, theirs):
        env.seed(5)
    np.testing.assert_array_equal(ours.reset(), theirs.reset())
    assert ours.observation_space == theirs.observation_space
    rng = np.random.default_rng(0)
    for _ in range(17):
        actions = rng.uniform(-1, 1, (3, *ours.action_space.shape)).astype(np.float32)
        *mine, my_infos = ours.step(actions)
        *other, their_infos = theirs.step(actions)
        for one, two in zip(mine, other, strict=True):
            np.testing.assert_array_equal(one, two)
            assert one.dtype == two.dtype
        for one, two in zip(my_infos, their_infos, strict=True):
            assert set(one) == set(two)
            for key in set(one) - {"episode"}:
                np.testing.assert_array_equal(one[key], two[key])
            if "episode" in one:
                assert one["episode"]["l"] == two["episode"]["l"] == 7
                assert one["episode"]["r"] == pytest.approx(two["episode"]["r"], rel=1e-4)
    ours.close()
    theirs.close()


def test_an_agent_trains_and_is_evaluated_on_our_slots(sb3):
    from stable_baselines3.common.evaluation import evaluate_policy

    env = recall.make_sb3_vec(["push", "hammer"], 4, horizon=10, seed=0)
    model = sb3.PPO(
        "MlpPolicy", env, n_steps=20, batch_size=40, n_epochs=1, seed=0, device="cpu",
        policy_kwargs={"net_arch": [8]},
    )  # fmt: skip
    model.learn(80)
    assert len(model.ep_success_buffer) == 8
    returns, lengths = evaluate_policy(model, env, 4, return_episode_rewards=True)
    assert lengths == [10] * 4
    assert np.isfinite(returns).all()
    env.close()


def test_what_slots_cannot_do_is_refused():
    env = recall.make_sb3_vec("point-slide", 2)
    with pytest.raises(BadValueError, match="attributes of their own"):
        env.set_attr("horizon", 3)
    with pytest.raises(BadValueError, match="methods of their own"):
        env.env_method("reset")
    env.set_options([{"a": 1}, {}])
    with pytest.raises(BadValueError, match="same options"):
        env.reset()
