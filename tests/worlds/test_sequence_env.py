"""A sequence as one environment, whose task changes between episodes."""

import copy
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

import recall
from recall.errors import BadValueError, UnknownNameError
from recall.worlds.sequences import sequence_names
from tests.factories.environments import ending


def play(env, steps: int) -> list[tuple[str, int, bool]]:
    """Step with resets where they fall; return task, index and whether the episode was cut."""
    env.reset(seed=3)
    played = []
    for _ in range(steps):
        *_, terminated, truncated, info = env.step(env.action_space.sample())
        played.append((info["task"], info["task_index"], truncated))
        if terminated or truncated:
            env.reset()
    return played


def test_the_task_changes_after_its_steps_and_the_last_one_goes_on():
    env = recall.make_sequence("point-slide,point-rich,point-slide", steps_per_task=7, horizon=5)
    played = play(env, 30)
    assert [index for _, index, _ in played] == [0] * 7 + [1] * 7 + [2] * 16
    assert {(task, index) for task, index, _ in played} == {
        ("point-slide", 0), ("point-rich", 1), ("point-slide", 2)}  # fmt: skip
    cuts = [step for step, (*_, truncated) in enumerate(played, start=1) if truncated]
    assert cuts == [5, 7, 12, 14, 19, 24, 29]


def test_a_task_plays_as_recall_make_does_and_chosen_tasks_begin_anew():
    env = recall.make_sequence(["point-slide", "point-poor"], steps_per_task=4)
    for index, task in enumerate(env.tasks):
        own = recall.make(task)
        first, info = env.reset(seed=5, options={"task_index": index})
        assert np.array_equal(first, own.reset(seed=5)[0])
        assert (info["task"], info["task_index"]) == (task, index)
        for action in np.random.default_rng(0).uniform(-1, 1, (3, 2)):
            assert np.array_equal(env.step(action)[0], own.step(action)[0])
    env.reset(options={"task_index": 0})
    for _ in range(4):
        *_, truncated, _ = env.step(np.zeros(2))
    assert truncated
    with pytest.raises(ResetNeeded, match="point-slide"):
        env.step(np.zeros(2))
    with pytest.raises(BadValueError, match="task_index is 2"):
        env.reset(options={"task_index": 2})
    with pytest.raises(UnknownNameError, match="rand_vec"):
        env.reset(options={"task": 1})


def test_equal_seeds_give_equal_sequences_and_a_copy_goes_on_alike():
    one, other = (recall.make_sequence("pointworld", steps_per_task=6) for _ in range(2))
    for env in (one, other):
        env.action_space.seed(0)
    assert play(one, 15) == play(other, 15)
    copied = copy.deepcopy(one)
    for _ in range(20):
        action = one.action_space.sample()
        results = [env.step(action) for env in (one, other, copied)]
        for result in results[1:]:
            assert np.array_equal(result[0], results[0][0])
        if results[0][3]:
            assert len({env.reset()[0].tobytes() for env in (one, other, copied)}) == 1


def test_a_true_end_at_the_last_step_of_a_task_is_no_truncation():
    env = recall.make_sequence([ending, ending], steps_per_task=3, horizon=5)
    env.reset(seed=0)
    *_, (_, _, terminated, truncated, info) = [env.step(np.zeros(1)) for _ in range(3)]
    assert (terminated, truncated, info["task_index"]) == (True, False, 0)
    assert env.reset()[1]["task_index"] == 1


def test_named_sequences_are_registered_and_pass_gymnasiums_checker():
    names = {name for name in sequence_names() if not name.startswith("pair")} - {"pointworld"}
    assert {f"ContinualWorld/{name}-v1" for name in names} < set(gymnasium.registry)
    env = gymnasium.make("ContinualWorld/cw3-1-v1", steps_per_task=10)
    assert (env.spec.max_episode_steps, env.unwrapped.tasks[0]) == (200, "push")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*Box observation space m.*imum value is -?infinity")
        check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vectors_count_the_steps_of_each_environment(mode):
    env = gymnasium.make_vec(
        "PointWorld/pointworld-v1", 2, mode, steps_per_task=4, max_episode_steps=3
    )
    env.reset(seed=0)
    infos = [env.step(env.action_space.sample())[4] for _ in range(9)]
    # NEXT_STEP: a step between two episodes, which are cut at the limit and the task's last step.
    assert [info["task_index"].tolist() for info in infos] == [[i] * 2 for i in [0] * 5 + [1] * 4]
    env.close()
