"""What a fleet has collected, as a Minari dataset: every episode as the simulator plays it."""

import numpy as np
import pytest

import recall
from recall.cli import main
from recall.collect.messages import TRAINING, RunTasks, Setup
from recall.config.stored import spec_from
from recall.errors import BadValueError, UnknownNameError
from recall.runs.description import read_description
from recall.worlds.episodes import Episodes
from recall.worlds.pointworld import _TASKS, reward
from recall.worlds.registry import make_simulator
from tests.factories.environments import ending
from tests.factories.fleets import CrashAt, CrashError, go_on, run, small_spec, start

minari = pytest.importorskip("minari", reason="minari is not installed")
pytest.importorskip("h5py", reason="h5py is not installed")

HORIZON = 30
KEPT = {
    "keep_replay": True,
    "environments": 2,
    "horizon_steps": HORIZON,
    "random_tails": 0.5,
    "random_steps": 50,
}


@pytest.fixture(autouse=True)
def datasets(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A fleet of two runs that has crashed twice."""
    folder = tmp_path_factory.mktemp("kept")
    with pytest.raises(CrashError):
        run(start(small_spec(**KEPT), folder, CrashAt(7)))
    with pytest.raises(CrashError):
        run(go_on(folder, CrashAt(9))[0])
    run(go_on(folder)[0])
    return folder


def files_in(folder):
    return {path.name: path.read_bytes() for path in (folder / "replay").iterdir()}


def test_what_is_kept_is_the_same_after_crashes(kept, tmp_path):
    run(start(small_spec(**KEPT), tmp_path))
    assert files_in(tmp_path) == files_in(kept)
    assert sorted(files_in(kept)) == ["task-0.ends", "task-0.rows", "task-1.ends", "task-1.rows"]


def test_every_episode_is_the_one_that_the_simulator_plays(kept):
    """Bit for bit, from the actions alone: observations, rewards, ends and success."""
    dataset = recall.export_minari(kept, "recall/points-v0")
    spec = spec_from(read_description(kept))
    setup = Setup(
        tuple(RunTasks(each.own_seed, each.tasks) for each in spec.runs),
        spec.settings.world, None, spec.settings.schedule,
    )  # fmt: skip
    episodes = list(dataset)
    labels = list(dataset.storage.get_episode_metadata(range(len(episodes))))
    assert len(episodes) == 2 * 2 * 2 * (150 // HORIZON)
    at = 0
    for position, task in enumerate(("point-rich", "point-poor")):
        for number, each in enumerate(spec.runs):
            for environment in range(2):
                stream = setup.stream(2 * number + environment, TRAINING, position)
                played = Episodes(make_simulator(task, 1, spec.settings.world), HORIZON, [stream])
                first = played.start_all()[0]
                for _ in range(150 // HORIZON):
                    episode, label = episodes[at], labels[at]
                    at += 1
                    assert (label["run"], label["task"]) == (each.name, task)
                    np.testing.assert_array_equal(episode.observations[0], first.astype("f4"))
                    for step, action in enumerate(episode.actions):
                        result, outcomes = played.step(action[None])
                        seen = result.observation[0].astype("f4")
                        np.testing.assert_array_equal(episode.observations[step + 1], seen)
                        assert episode.rewards[step] == np.float32(result.reward[0])
                    (outcome,) = outcomes
                    first = played.observation[0]
                    assert label["success"] == outcome.success
                    assert (episode.infos["episode_success"] == outcome.success).all()
                    assert episode.truncations.tolist() == [False] * (HORIZON - 1) + [True]
                    assert not episode.terminations.any()
                    begun = episode.infos["step"][0]
                    assert begun % 2 == environment
                    assert episode.infos["step"][1:].tolist() == [
                        begun + 2 * step for step in range(HORIZON)
                    ]
                    assert (episode.infos["task"] == position).all()
                # A known answer: what pointworld pays where the point has come.
                place, goal = episode.observations[1:, :2], episode.observations[1:, 4:6]
                pays = reward(np.linalg.norm(place - goal, axis=1), _TASKS[task].scale)
                np.testing.assert_allclose(episode.rewards, pays, rtol=1e-3)
    assert at == len(episodes)


def test_who_acted_is_told(kept):
    """Random actions, then the first head; at the start of the second task in turns."""
    dataset = recall.export_minari(
        kept, "recall/heads-v0", run="recall-point-rich,point-poor-seed1"
    )
    heads = {position: {} for position in (0, 1)}
    for episode in dataset:
        infos = episode.infos
        heads[infos["task"][0]] |= dict(zip(infos["step"][1:], infos["head"][1:], strict=True))
        if infos["head"][0] == -1 and infos["head"][-1] == -1:
            assert not infos["random_motion"].any()
    first, second = ([at[step] for step in sorted(at)] for at in heads.values())
    assert (first[:50], set(first[50:])) == ([-1] * 50, {0})
    turn = 150  # whole chunks in which an episode of two environments fits
    turns = second[:turn], second[turn : 2 * turn]
    assert ([set(each) for each in turns], second[2 * turn :]) == ([{-1}, {0}], [])
    assert dataset.recover_environment is not None


def test_one_task_comes_with_its_environment_and_only_once(kept, capsys):
    main(["export", str(kept), "--minari", "recall/poor-v0", "--task", "point-poor"])
    assert "20 episodes, 600 steps" in capsys.readouterr().out
    dataset = minari.load_dataset("recall/poor-v0")
    env = dataset.recover_environment()
    assert env.unwrapped.simulator.task == "point-poor"
    assert env.observation_space.shape == dataset.observation_space.shape
    with pytest.raises(BadValueError, match="recall/poor-v0"):
        recall.export_minari(kept, "recall/poor-v0")


@pytest.mark.slow
def test_a_termination_is_no_truncation(tmp_path):
    unlearned = {"environments": 5, "update_after": 300}
    spec = small_spec("fine_tuning", [[ending]], (0,), **KEPT | unlearned)
    run(start(spec, tmp_path / "fleet"))
    functions = {"ending": ending}
    dataset = recall.export_minari(tmp_path / "fleet", "recall/three-v0", functions=functions)
    for episode in dataset:
        assert episode.terminations.tolist() == [False, False, True]
        assert not episode.truncations.any()
        assert episode.observations[:, 0].tolist() == [0, 1, 2, 3]
        assert episode.infos["episode_success"].all()
    assert dataset.total_episodes == 5 * (60 // 3)


def test_what_was_not_kept_or_is_not_whole_is_refused(finished, kept, tmp_path):
    with pytest.raises(BadValueError, match="without keep_replay"):
        recall.export_minari(finished, "recall/none-v0")
    with pytest.raises(UnknownNameError, match="'hammer'"):
        recall.export_minari(kept, "recall/none-v0", tasks="hammer")
    ends = kept / "replay" / "task-1.ends"
    whole = ends.read_bytes()
    ends.write_bytes(whole[:-1])
    try:
        with pytest.raises(BadValueError, match="is not whole"):
            recall.export_minari(kept, "recall/none-v0", tasks=1)
    finally:
        ends.write_bytes(whole)
    assert recall.export_minari(kept, "recall/none-v0", tasks=1).total_episodes == 20
