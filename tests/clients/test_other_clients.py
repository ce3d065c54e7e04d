"""torchrl, tianshou and Minari collect from our environments."""

import gymnasium
import numpy as np
import pytest

import recall
from tests.factories.environments import counter


@pytest.mark.parametrize("mode", ["SameStep", "Disabled"])
def test_torchrl_rolls_out_our_slots(mode):
    pytest.importorskip("torchrl", reason="torchrl is not installed")
    from torchrl.envs import GymWrapper

    env = GymWrapper(recall.make_vec("point-slide", 3, horizon=5, seed=0, autoreset_mode=mode))
    env.set_seed(0)
    played = env.rollout(12, break_when_any_done=False)
    assert played.batch_size == (3, 12)
    done = played["next", "done"][..., 0].numpy()
    np.testing.assert_array_equal(done, [[step % 5 == 4 for step in range(12)]] * 3)
    own = recall.make_vec("point-slide", 3, horizon=5, seed=0, autoreset_mode="SameStep")
    own.reset(seed=0)
    first, _ = own.reset()  # torchrl resets once for the seed and once for the rollout
    np.testing.assert_array_equal(played["observation"][:, 0], first)
    # With same_step, torchrl resets once more where all slots end together.
    for step in range(5 if mode == "SameStep" else 12):
        _, reward, *_ = own.step(played["action"][:, step].numpy())
        np.testing.assert_allclose(played["next", "reward"][:, step, 0], reward, rtol=1e-6)


def test_torchrl_checks_a_single_environment():
    pytest.importorskip("torchrl", reason="torchrl is not installed")
    from torchrl.envs import GymWrapper
    from torchrl.envs.utils import check_env_specs

    env = GymWrapper(recall.make("push", horizon=20))
    check_env_specs(env)
    assert env.rollout(30).batch_size == (20,)


def test_tianshou_steps_our_environments():
    pytest.importorskip("tianshou", reason="tianshou is not installed")
    from tianshou.env import DummyVectorEnv

    env = DummyVectorEnv([lambda: recall.make(counter, horizon=4) for _ in range(3)])
    env.reset(seed=0)
    for _ in range(4):
        *_, truncated, infos = env.step(np.zeros((3, 1), np.float32))
    assert truncated.all()
    assert all(info["is_success"] for info in infos)


def test_tianshou_collects_episodes():
    """What its Collector stores is what our environment gives for the same actions."""
    pytest.importorskip("tianshou", reason="tianshou is not installed")
    from tianshou.algorithm.algorithm_base import RandomActionPolicy
    from tianshou.data import Collector, VectorReplayBuffer
    from tianshou.env import DummyVectorEnv

    env = DummyVectorEnv([lambda: recall.make("push", horizon=5) for _ in range(3)])
    own = recall.make("push", horizon=5)
    buffer = VectorReplayBuffer(60, 3)
    collector = Collector(RandomActionPolicy(own.action_space), env, buffer)
    collector.reset(gym_reset_kwargs={"seed": 7})
    collected = collector.collect(n_episode=6)
    assert collected.lens.tolist() == [5] * 6
    played, _ = buffer.sample(0)  # everything, one environment after the other
    assert played.truncated.reshape(3, 10)[0].nonzero()[0].tolist() == [4, 9]
    assert "is_success" in played.info
    observation, _ = own.reset(seed=7)
    for row in played[:5]:
        np.testing.assert_array_equal(row.obs, observation)
        observation, reward, *_ = own.step(row.act)
        np.testing.assert_allclose(row.rew, reward)


def test_minari_records_infos(tmp_path, monkeypatch):
    """Every step's info has the same keys, so that Minari can stack them."""
    minari = pytest.importorskip("minari", reason="minari is not installed")
    pytest.importorskip("h5py", reason="h5py is not installed")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    env = minari.DataCollector(
        gymnasium.make("ContinualWorld/push-v1", max_episode_steps=6), record_infos=True
    )
    env.action_space.seed(0)
    for episode in range(2):
        env.reset(seed=episode)
        for _ in range(6):
            env.step(env.action_space.sample())
    dataset = env.create_dataset(dataset_id="continual-world/push-v0")
    episodes = list(minari.load_dataset("continual-world/push-v0"))
    assert dataset.total_episodes == len(episodes) == 2
    for episode in episodes:
        assert len(episode.infos["is_success"]) == 7  # the reset and six steps
        assert episode.observations.shape == (7, 12)
