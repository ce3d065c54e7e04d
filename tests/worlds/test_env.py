import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

import recall
from recall.errors import BadValueError, RecallError, UnknownNameError
from recall.worlds.registry import task_names, tasks_of
from tests.factories.environments import breaking, counter, ending

ACTION = np.zeros(2, np.float32)


@pytest.mark.parametrize("task", [*task_names(), "gym:Pendulum-v1"])
def test_gymnasiums_checker_finds_nothing_to_say(task):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Positions in MuJoCo have no bounds, in Gymnasium's own MuJoCo environments neither.
        warnings.filterwarnings("ignore", ".*Box observation space m.*imum value is -?infinity")
        check_env(recall.make(task), skip_render_check=True)


@pytest.mark.parametrize("name", ["PointWorld/point-rich-v1", "PointWorld/pointworld-v1"])
def test_gymnasiums_checker_draws_in_every_mode(name, monkeypatch):
    pygame = pytest.importorskip("pygame", reason="pygame is not installed")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    check_env(gymnasium.make(name, width=80, height=60).unwrapped)
    env = gymnasium.make(name, render_mode="human", width=80, height=60)
    env.reset(seed=0)
    window = pygame.display.get_surface()
    before = bytes(window.get_view("0"))
    assert window.get_size() == (80, 60)
    for _ in range(5):
        env.step(ACTION + 1)
    assert bytes(window.get_view("0")) != before
    assert gymnasium.make(env.spec).spec == env.spec
    env.close()


def test_a_window_without_a_display_is_refused_with_the_way_out(monkeypatch):
    pygame = pytest.importorskip("pygame", reason="pygame is not installed")
    pygame.display.quit()
    for name in ("SDL_VIDEODRIVER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(RecallError, match=r"human.*rgb_array"):
        recall.make("point-rich", render_mode="human")


def test_an_episode_is_cut_at_the_horizon_and_tells_how_it_went():
    env = recall.make(counter, horizon=5)
    _, first = env.reset(seed=0)
    steps = [env.step(np.zeros(1)) for _ in range(5)]
    infos = [step[4] for step in steps]
    assert [info["success"] for info in infos] == [False, True, False, False, False]
    assert all(type(info["success"]) is bool for info in infos)
    assert [step[2] for step in steps] == [False] * 5
    assert [step[3] for step in steps] == [False] * 4 + [True]
    so_far = [False, True, True, True, True]
    assert [info["episode_success"] for info in infos] == so_far
    assert [info["is_success"] for info in infos] == so_far
    keys = {"success", "episode_success", "is_success", "diverged"}
    assert all(set(info) == keys for info in [first, *infos])
    assert not any(first.values())


@pytest.mark.parametrize(
    ("task", "steps", "terminates"),
    [(ending, 3, True), (breaking, 4, False)],  # a true end at the horizon; a divergence
)
def test_an_end_terminates_or_truncates(task, steps, terminates):
    env = recall.make(task, horizon=3 if terminates else 9)
    env.reset(seed=0)
    *_, (_, _, terminated, truncated, info) = [env.step(np.zeros(1)) for _ in range(steps)]
    assert (terminated, truncated, info["diverged"]) == (terminates, not terminates, not terminates)
    assert info["episode_success"]


def test_no_step_without_an_episode():
    env = recall.make("point-rich", horizon=1)
    with pytest.raises(ResetNeeded, match=r"point-rich.*reset"):
        env.step(ACTION)
    env.reset()
    env.step(ACTION)
    with pytest.raises(ResetNeeded, match=r"point-rich.*reset"):
        env.step(ACTION)


def test_a_seed_begins_a_stream_and_resets_go_on_in_it():
    env, other = (recall.make("point-rich") for _ in range(2))
    starts = [env.reset(seed=7)[0], env.reset()[0]]
    env.step(ACTION)  # half an episode changes nothing about the next
    starts.append(env.reset()[0])
    assert np.array_equal([other.reset(seed=7)[0], other.reset()[0], other.reset()[0]], starts)
    assert len({each.tobytes() for each in (*starts, other.reset(seed=8)[0])}) == 4


def test_a_picture_changes_as_the_arm_moves():
    image = {"render_mode": "rgb_array", "width": 60, "camera_name": "corner2"}
    env, silent = recall.make("window-close", **image), recall.make("window-close")
    for each in (env, silent):
        each.reset(seed=0)
    assert silent.render() is None
    try:
        first = env.render()
    except RecallError as error:
        if "GL" not in str(error):
            raise
        pytest.skip(str(error))
    assert (first.shape, first.dtype) == ((480, 60, 3), np.uint8)
    for _ in range(10):
        env.step(np.array([1.0, 0.0, 0.0, 0.0]))
    assert not np.array_equal(first, env.render()), "the arm has moved"
    env.close()


@pytest.mark.parametrize(
    "image", [pytest.param("", marks=pytest.mark.slow), ", render_mode='rgb_array'"]
)
def test_gymnasium_finds_our_tasks_by_module_and_name_alone(image):
    """A program that does not close its environment ends without a word."""
    program = f"""
import gymnasium
env = gymnasium.make("recall:ContinualWorld/push-v1", max_episode_steps=3{image})
many = gymnasium.make_vec("ContinualWorld/push-v1", 2, workers=2)
env.reset(seed=1)
env.render()
many.reset(seed=1)
print([env.step(env.action_space.sample())[3] for _ in range(3)])
"""
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    if "cannot draw" in shown.stderr:
        pytest.skip(shown.stderr)
    assert (shown.stdout, shown.stderr) == ("[False, False, True]\n", "")


def test_gymnasium_makes_what_we_make():
    theirs = gymnasium.make("PointWorld/point-swap-v1", max_episode_steps=4)
    ours = recall.make("point-swap", horizon=4)
    assert np.array_equal(theirs.reset(seed=2)[0], ours.reset(seed=2)[0])
    for _ in range(4):
        *_, truncated, info = theirs.step(ACTION)
        assert info == ours.step(ACTION)[4]
    assert truncated
    assert ours.spec.max_episode_steps == ours.spec.make().spec.max_episode_steps == 4
    names = {f"ContinualWorld/{task}-v1" for task in tasks_of("continual_world")}
    assert len(names) == 10
    assert names < set(gymnasium.registry)
    with pytest.warns(UserWarning, match="PointWorld/point-swap-v1"):
        assert gymnasium.make("PointWorld/point-swap").spec == gymnasium.spec(
            "PointWorld/point-swap-v1"
        )


def test_unknown_reset_options_cameras_and_sizes_are_refused():
    env = recall.make("push")
    with pytest.raises(UnknownNameError, match=r"'rand_vek'.*'rand_vec'"):
        env.reset(options={"rand_vek": 1})
    with pytest.raises(UnknownNameError, match=r"'corner9'.*gripperPOV"):
        recall.make("push", camera_name="corner9")
    with pytest.raises(BadValueError, match="width is 0"):
        recall.make("push", width=0)
