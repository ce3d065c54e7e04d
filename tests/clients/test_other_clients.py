"""torchrl, tianshou and Minari collect from our environments."""

import gymnasium
import numpy as np
import pytest

import recall


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


@pytest.mark.slow
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


def test_d3rlpy_trains_online_and_fills_its_buffer():
    d3rlpy = pytest.importorskip("d3rlpy", reason="d3rlpy is not installed")
    env = gymnasium.make("PointWorld/point-slide-v1", max_episode_steps=10)
    sac = d3rlpy.algos.SACConfig(batch_size=8).create(device="cpu:0")
    buffer = d3rlpy.dataset.create_fifo_replay_buffer(limit=100, env=env)
    quietly = {"show_progress": False, "logger_adapter": d3rlpy.logging.NoopAdapterFactory()}
    sac.fit_online(env, buffer, n_steps=20, n_steps_per_epoch=20, update_start_step=15, **quietly)
    assert len(buffer.episodes) == 2
    observation, _ = env.reset(seed=0)
    assert env.action_space.contains(sac.predict(observation[np.newaxis].astype(np.float32))[0])


def test_skrl_trains_on_our_slots():
    """SAC with linear networks, whose memory has a row of every slot and step."""
    pytest.importorskip("skrl", reason="skrl is not installed")
    import torch
    from skrl.agents.torch.sac import SAC, SAC_CFG
    from skrl.envs.wrappers.torch import wrap_env
    from skrl.memories.torch import RandomMemory
    from skrl.models.torch import DeterministicMixin, GaussianMixin, Model
    from skrl.trainers.torch import SequentialTrainer

    env = wrap_env(gymnasium.make_vec("PointWorld/point-slide-v1", 3, max_episode_steps=20))
    spaces = {"observation_space": env.observation_space, "action_space": env.action_space}
    on = {**spaces, "device": env.device}

    class Actor(GaussianMixin, Model):
        def __init__(self):
            Model.__init__(self, **on)
            GaussianMixin.__init__(self)
            self.layer = torch.nn.Linear(self.num_observations, self.num_actions)
            self.log_std = torch.nn.Parameter(torch.zeros(self.num_actions))

        def compute(self, inputs, role):
            return torch.tanh(self.layer(inputs["observations"])), {"log_std": self.log_std}

    class Critic(DeterministicMixin, Model):
        def __init__(self):
            Model.__init__(self, **on)
            DeterministicMixin.__init__(self)
            self.layer = torch.nn.Linear(self.num_observations + self.num_actions, 1)

        def compute(self, inputs, role):
            return self.layer(torch.cat([inputs["observations"], inputs["taken_actions"]], 1)), {}

    critics = ("critic_1", "critic_2", "target_critic_1", "target_critic_2")
    models = {"policy": Actor(), **{name: Critic() for name in critics}}
    memory = RandomMemory(memory_size=100, num_envs=3, device=env.device)
    agent = SAC(models=models, memory=memory, cfg=SAC_CFG(batch_size=8, learning_starts=5), **on)
    how = {"timesteps": 30, "headless": True, "disable_progressbar": True}
    SequentialTrainer(cfg=how, env=env, agents=agent).train()
    assert memory.memory_index == 30
    rewards = memory.get_tensor_by_name("rewards")[:30]
    assert torch.isfinite(rewards).all()
    assert (rewards != 0).any()


@pytest.mark.slow
def test_rllib_trains_by_id():
    ppo = pytest.importorskip("ray.rllib.algorithms.ppo", reason="RLlib is not installed")
    config = (
        ppo.PPOConfig()
        .environment("PointWorld/point-slide-v1")
        .env_runners(num_env_runners=0, num_envs_per_env_runner=2)
        .training(train_batch_size=200, minibatch_size=50, num_epochs=1)
    )
    algorithm = config.build_algo()
    episodes = algorithm.train()["env_runners"]
    algorithm.stop()
    assert episodes["episode_len_max"] == episodes["episode_len_min"] == 50


def test_cleanrl_makes_its_environments_by_id():
    """As the scripts of CleanRL do with `--env-id recall:PointWorld/point-slide-v1`."""

    def make_env():
        env = gymnasium.make("recall:PointWorld/point-slide-v1")
        return gymnasium.wrappers.RecordEpisodeStatistics(env)

    envs = gymnasium.vector.AsyncVectorEnv([make_env] * 2)
    envs.single_observation_space.dtype = np.float32
    envs.reset(seed=1)
    envs.action_space.seed(0)
    infos = [envs.step(envs.action_space.sample())[4] for _ in range(50)]
    assert infos[-1]["episode"]["l"].tolist() == [50, 50]
    envs.close()
