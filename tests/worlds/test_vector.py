import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import recall
from recall.errors import BadValueError, RecallError, UnknownNameError
from tests.factories.environments import breaking, counter, ending

POINTS = ["point-rich", "point-swap", "point-slide"]


def actions_for(env, steps, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1.2, 1.2, (steps, *env.action_space.shape))


def rollout(env, actions, slots):
    """Everything the chosen slots showed, [step, slot, number]."""
    seen = []
    env.reset()
    for action in actions:
        observation, reward, terminated, truncated, infos = env.step(action)
        numbers = (reward, terminated, truncated, infos["success"])
        seen.append(np.column_stack([observation[slots], *(n[slots] for n in numbers)]))
    env.close()
    return np.array(seen)


@pytest.mark.parametrize("tasks", [POINTS, ["window-close", "push"], ["gym:Pendulum-v1"]], ids=str)
def test_a_slot_depends_neither_on_the_other_slots_nor_on_the_workers(tasks):
    slots = np.arange(3)

    def played(num_envs, workers):
        env = recall.make_vec(tasks, num_envs, horizon=20, seed=5, workers=workers)
        size = env.single_action_space.shape[0]
        actions = np.random.default_rng(1).uniform(-1, 1, (45, 12, size))
        return rollout(env, actions[:, :num_envs], slots)

    few = played(3, 1)
    np.testing.assert_array_equal(few, played(12, 1))
    np.testing.assert_array_equal(few, played(7, 2))
    if tasks is POINTS:
        np.testing.assert_array_equal(few, played(3, 8))  # more workers than there is work for
    assert not np.array_equal(few[:, 0], few[:, 1])


@pytest.mark.parametrize(("dtype", "seed"), [(np.float32, 4), (np.float64, [9, 4, 6])])
@pytest.mark.parametrize("mode", AutoresetMode, ids=lambda mode: mode.name)
@pytest.mark.parametrize(
    ("task", "horizon"),  # `ending` ends after 3 steps: before the horizon, or right at it
    [("point-poor", 7), ("push", 7), ("gym:Pendulum-v1", 7), (breaking, 7),
     (ending, 7), (ending, 3)],
)  # fmt: skip
def test_it_equals_gymnasiums_own_vector_of_single_environments(task, horizon, mode, dtype, seed):
    ours = recall.make_vec(task, 3, horizon=horizon, autoreset_mode=mode)
    theirs = SyncVectorEnv([lambda: recall.make(task, horizon=horizon)] * 3, autoreset_mode=mode)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert ours.metadata == theirs.metadata | {"render_modes": ["rgb_array"]}
    first, infos = ours.reset(seed=seed)
    their_first, their_infos = theirs.reset(seed=seed)
    assert np.array_equal(first, their_first)
    assert first.dtype == ours.observation_space.dtype
    assert_infos_equal(infos, their_infos)
    for step, action in enumerate(actions_for(ours, 2 * horizon + 3).astype(dtype)):
        *mine, my_infos = ours.step(action)
        *other, their_infos = theirs.step(action)
        assert_equal_results(mine, other)
        assert_infos_hold(my_infos, their_infos)
        ended = mine[2] | mine[3]
        if mode is AutoresetMode.DISABLED and (ended.any() or step == 3):
            ended[0] |= step == 3  # in the middle of an episode too
            mine, my_infos = ours.reset(options={"reset_mask": ended})
            other, their_infos = theirs.reset(options={"reset_mask": ended})
            assert_equal_results([mine], [other])
            assert_infos_equal(my_infos, their_infos)
    some = [None, 8, None]  # the others go on in their streams
    assert np.array_equal(ours.reset(seed=some)[0], theirs.reset(seed=some)[0])


def assert_equal_results(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype
        assert np.array_equal(a, b, equal_nan=True)


def assert_infos_hold(ours, theirs):
    """Ours say all that theirs say; at an episode's end ours tell of its last step, not a reset."""
    running = ~theirs.get("_final_info", np.zeros(3, bool))
    assert_infos_equal(ours, theirs, running)


def assert_infos_equal(ours, theirs, slots=slice(None)):
    assert set(ours) == set(theirs)
    for key, value in theirs.items():
        if isinstance(value, dict):
            assert_infos_equal(ours[key], value)
            continue
        assert ours[key].dtype == value.dtype
        compared = slice(None) if "final" in key else slots
        for one, two in zip(ours[key][compared], value[compared], strict=True):
            assert np.array_equal(one, two, equal_nan=one is not None and one.dtype.kind == "f")


def test_a_diverged_slot_alone_is_truncated_reset_and_counted():
    env = recall.make_vec([counter, breaking], 4, horizon=50, workers=2, autoreset_mode="SameStep")
    env.reset(seed=0)
    results = [env.step(np.zeros((4, 1))) for _ in range(9)]
    env.close()
    observation, _, terminated, truncated, infos = results[3]
    assert truncated.tolist() == infos["diverged"].tolist() == [False, True, False, True]
    assert infos["final_info"]["diverged"].tolist() == [False, True, False, True]
    assert not terminated.any()
    assert observation[:, 0].tolist() == [4.0, 0.0, 4.0, 0.0]
    assert env.diverged_episodes == 4  # in steps 4 and 8, two slots each
    assert not any(result[4]["diverged"].any() for result in results[:3])


def test_bad_actions_are_refused_and_no_slot_is_touched():
    env = recall.make_vec(POINTS, 3, seed=1)
    control = recall.make_vec(POINTS, 3, seed=1)
    env.reset()
    control.reset()
    good = actions_for(env, 4)
    nan, inf = good[2].copy(), good[3].copy()
    nan[2, 1], inf[1, 0] = np.nan, np.inf
    bad = (
        (good[0, :2], ("(2, 2)", "(3, 2)")),
        (good[1, :, :1], ("(3, 1)", "(3, 2)")),
        (nan, ("nan", "slot 2")),
        (inf, ("inf", "slot 1")),
    )
    for action, (refused, words) in zip(good, bad, strict=True):
        with pytest.raises(BadValueError) as caught:
            env.step(refused)
        assert all(word in str(caught.value) for word in words)
        assert np.array_equal(env.step(action)[0], control.step(action)[0])
    env.close()


def test_a_vector_without_a_seed_has_new_episodes_and_options_reach_every_slot():
    env, other = (recall.make_vec("point-rich", 2) for _ in range(2))
    assert not np.array_equal(env.reset()[0], other.reset()[0])
    fixed, _ = env.reset(options={"rand_vec": [0.1, -0.2, 0.5, 0.6]})
    assert fixed.tolist() == [[0.1, -0.2, 0.0, 0.0, 0.5, 0.6]] * 2


@pytest.mark.parametrize(
    ("task", "arguments", "told"),
    [
        (POINTS, {}, "3 tasks for 2 slots"),
        (3, {}, "task 3 is neither a name nor a function"),
        (["push", None], {}, "task None is neither"),
        (gymnasium.make("Pendulum-v1"), {}, "is an environment; give a function"),
        (
            ["point-rich", "gym:Pendulum-v1"],
            {},
            r"point-rich have shape \(6,\).*gym:Pendulum-v1 \(3,\)",
        ),
        ("point-rich", {"num_envs": 0}, "num_envs is 0"),
        ("point-rich", {"workers": 0}, "workers is 0"),
        ("point-rich", {"seed": -1}, "seed -1"),
        ("point-rich", {"render_mode": "human"}, "human"),
        ("point-rich", {"camera_name": "corner"}, "corner"),
        (["push", "hammer"], {"camera_name": "x"}, "topview"),
        ("point-rich", {"autoreset_mode": "soon"}, "NextStep"),
    ],
)
def test_bad_requests_are_refused(task, arguments, told):
    with pytest.raises((BadValueError, UnknownNameError), match=told):
        recall.make_vec(task, **{"num_envs": 2, **arguments})


def test_bad_resets_are_refused():
    env = recall.make_vec("point-rich", 2, workers=2)
    with pytest.raises(ResetNeeded):
        env.step(np.zeros((2, 2)))
    with pytest.raises(BadValueError, match="3 seeds for 2 slots"):
        env.reset(seed=[1, 2, 3])
    with pytest.raises(BadValueError, match="seed -4"):
        env.reset(seed=-4)
    with pytest.raises(BadValueError, match="reset_mask"):
        env.reset(options={"reset_mask": np.array([True, False])})
    with pytest.raises(RecallError, match=r"reset option 'goal'.*rand_vec"):
        env.reset(options={"goal": 1})
    env.close()


@pytest.mark.parametrize("mode", [None, "sync", "async"])
def test_gymnasium_makes_vectors_of_our_tasks(mode):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make_vec(
            "PointWorld/point-rich-v1", 2, vectorization_mode=mode, max_episode_steps=3
        )
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    first, _ = env.reset(seed=1)
    assert np.array_equal(first[1], recall.make("point-rich").reset(seed=2)[0])
    for _ in range(3):
        *_, truncated, _ = env.step(env.action_space.sample())
    assert truncated.all()
    env.close()


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_every_slot_has_its_picture(workers):
    image = {"render_mode": "rgb_array", "width": 60, "height": 40, "camera_name": "corner3"}
    env = recall.make_vec("window-close", 3, seed=0, workers=workers, **image)
    env.reset()
    try:
        pictures = env.render()
    except RecallError as error:
        if "GL" not in str(error):
            raise
        pytest.skip(str(error))
    assert [picture.shape for picture in pictures] == [(40, 60, 3)] * 3
    assert not np.array_equal(pictures[0], pictures[1]), "their starts differ"
    env.close()
