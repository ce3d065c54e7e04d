"""Films of policies made by hand: what they show is what an evaluation counts."""

import dataclasses
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import recall
from recall.cli import main
from recall.config.resolve import resolve
from recall.errors import BadValueError, UnknownNameError
from recall.files.fleet_layout import FINAL
from recall.filming.film import filmed_episode
from recall.filming.pictures import Tile, animate, caption_height, in_rows
from recall.learn import fleet
from recall.policies.file_format import pack, read_policy_file
from recall.runs.policies import write_policies
from recall.runs.store import Store
from recall.training.agents import agent_of
from recall.worlds.pointworld import draw_point, make_simulator
from tests.factories.policies import expert_action, write_untrained

TASKS = ("point-rich", "point-poor")
SMALL = (64, 48)


def make_fleet(folder: Path, finished=True, over=(0, 1)) -> Path:
    """A fleet of two seeds with random policies, without any training."""
    changes = {"hidden": (8, 8), "head_layers": 1, "steps_per_task": 300}
    spec = resolve("fine_tuning", ",".join(TASKS), (3, 5), changes=changes)
    Store.create(folder, spec.describe()).close()
    shape = fleet.policy_shape(agent_of(spec)[0])
    rng = np.random.default_rng(1)
    flat = {task: rng.normal(size=(2, shape.size)).astype(np.float32) for task in range(spec.tasks)}
    for task in over:
        write_policies(folder, spec, shape, f"task-{task}", {task: -flat[task]})
    if finished:
        write_policies(folder, spec, shape, FINAL, flat)
    return folder


@pytest.fixture(scope="module")
def fleet_folder(tmp_path_factory) -> Path:
    return make_fleet(tmp_path_factory.mktemp("fleet"))


class Expert:
    def __init__(self, task: str):
        self.task = task

    def act(self, observation, noise):
        return expert_action(self.task, observation)


def test_a_filmed_episode_is_the_one_that_is_evaluated(fleet_folder, tmp_path):
    """Every task's successes in a film are those that `evaluate` counts, run by run."""
    rates = []
    for record in recall.evaluate(fleet_folder, 4, workers=1):
        made = recall.film(
            fleet_folder, [record["position"]], tmp_path / "film.png", at="final", episodes=4,
            seed=(3, 5)[record["run"]], deterministic=record["mode"] == "deterministic",
            size=(32, 32),
        )  # fmt: skip
        (take,) = made.takes
        assert np.mean(take.successes) == record["success"]
        rates.append(record["success"])
    assert len(rates) == 8
    assert 0 < np.mean(rates) < 1, "a test with nothing to tell apart"


def test_an_episode_is_seen_from_its_start_to_its_end():
    simulator = make_simulator("point-swap", 1)
    frames = list(filmed_episode(simulator, 50, Expert("point-swap"), (7,), True, SMALL, every=20))
    assert [frame.step for frame in frames] == [0, 20, 40, 50]
    assert [frame.success for frame in frames][::3] == [False, True]
    np.testing.assert_array_equal(frames[-1].picture, simulator.render(0, *SMALL))
    assert frames[0].picture.shape == (48, 64, 3)


def test_the_picture_of_a_point_is_where_the_point_is():
    """On 300 x 300 pixels that show 3.12 x 3.12, blue is the point, and up is up."""
    state = np.array([0.75, 0.5, 0.0, 0.0, -0.9, -0.9])
    picture = draw_point(state, 0.1, 1.5, 300, 300).astype(int)
    blue = (picture[..., 2] - picture[..., 0]) > 90
    rows, columns = np.nonzero(blue)
    assert columns.mean() + 0.5 == pytest.approx(150 + 0.75 / 3.12 * 300, abs=0.3)
    assert rows.mean() + 0.5 == pytest.approx(150 - 0.5 / 3.12 * 300, abs=0.3)
    green = (picture[..., 1] - picture[..., 0]) > 90
    rows, columns = np.nonzero(green)
    assert columns.mean() + 0.5 == pytest.approx(150 - 0.9 / 3.12 * 300, abs=0.3)
    assert np.ptp(columns) == pytest.approx(0.2 / 3.12 * 300 + 2, abs=1.5), "as wide as success"


def test_tiles_play_in_step_and_the_shorter_waits():
    simulators = [make_simulator(task, 1) for task in TASKS]
    tiles = [
        [Tile(task, "", filmed_episode(simulator, steps, Expert(task), (1,), True, SMALL))]
        for task, simulator, steps in zip(TASKS, simulators, (4, 9), strict=True)
    ]
    pictures = list(animate(in_rows(tiles), SMALL, hold=2))
    assert len(pictures) == 1 + 9 + 2
    left = [np.asarray(picture.crop((0, 0, 6 + 64, 6 + 48))) for picture in pictures]
    np.testing.assert_array_equal(left[4], left[-1])
    assert not np.array_equal(left[3], left[4])


@pytest.mark.parametrize(
    ("tasks", "times", "shape"),
    [(1, 2, [2]), (1, 1, [1]), (3, 2, [3, 3]), (7, 2, [5, 5, 2, 2]), (5, 1, [5])],
)
def test_tasks_stand_in_columns_and_times_below_each_other(tasks, times, shape):
    tiles = [[Tile(f"{task}", f"{time}", ()) for time in range(times)] for task in range(tasks)]
    rows = in_rows(tiles)
    assert [len(row) for row in rows] == shape
    if tasks > 1:
        assert all(len({tile.subtitle for tile in row}) == 1 for row in rows)


def test_a_gif_holds_every_frame_at_its_pace(fleet_folder, tmp_path):
    made = recall.film(fleet_folder, "point-poor", tmp_path / "film.gif", size=SMALL, fps=20)
    assert [(take.task, take.at) for take in made.takes] == [
        ("point-poor", "learned"),
        ("point-poor", "final"),
    ]
    with Image.open(made.path) as gif:
        assert gif.size == (2 * 64 + 3 * 6, 48 + caption_height(64) + 2 * 6)
        total = 0
        for number in range(gif.n_frames):
            gif.seek(number)
            total += gif.info["duration"]
    assert total == 50 * (51 + 10), "the start, 50 steps, and half a second to look at the end"


@pytest.mark.skipif(not shutil.which("ffmpeg"), reason="ffmpeg is not installed")
def test_an_mp4_is_what_browsers_play(fleet_folder, tmp_path):
    made = recall.film(fleet_folder, out=tmp_path / "new" / "film.mp4", size=(65, 49), every=5)
    asked = "stream=codec_name,pix_fmt,width,height,nb_frames"
    shown = subprocess.run(
        ["ffprobe", "-v", "error", "-show_entries", asked, "-of", "csv=p=0", str(made.path)],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    codec, width, height, pixels, frames = shown.strip().split(",")
    assert (codec, pixels) == ("h264", "yuv420p")
    assert int(width) % 2 == int(height) % 2 == 0
    assert int(frames) == 1 + 10 + 15
    assert [path.name for path in made.path.parent.iterdir()] == ["film.mp4"]


def test_without_ffmpeg_an_mp4_becomes_a_gif(fleet_folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    out = tmp_path / "film.mp4"
    main(["film", str(fleet_folder), "--task", "point-rich", "--out", str(out), "--size", "40",
          "40", "--every", "25"])  # fmt: skip
    told = capsys.readouterr()
    assert "film.mp4 needs ffmpeg" in told.err
    assert told.out.splitlines()[-1] == str(out.with_suffix(".gif"))
    assert out.with_suffix(".gif").read_bytes()[:3] == b"GIF"


def test_a_contact_sheet_goes_to_the_fleets_own_films(fleet_folder, capsys):
    main(["film", str(fleet_folder), "--sheet", "--size", "40", "32"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[:2] for line in lines[1:-1]] == [
        [task, at] for task in TASKS for at in ("learned", "final")
    ]
    with Image.open(lines[-1]) as sheet:
        assert sheet.size == (2 * 40 + 3 * 6, 2 * (32 + caption_height(40)) + 3 * 6)
    names = [lines[-1]]
    for more in (["--at", "final"], ["--task", TASKS[0]], ["--deterministic"]):
        main(["film", str(fleet_folder), "--sheet", "--size", "40", "32", *more])
        names.append(capsys.readouterr().out.splitlines()[-1])
    assert len(set(names)) == 4, "no sheet overwrites another"
    assert {Path(name).parent for name in names} == {fleet_folder / "films"}


def test_an_unfinished_fleet_shows_what_is_over(tmp_path, capsys):
    folder = make_fleet(tmp_path, finished=False, over=(0,))
    main(["film", str(folder), "--out", str(tmp_path / "film.png"), "--size", "64", "48"])
    told = capsys.readouterr()
    assert "\npoint-rich\tlearned\t" in told.out
    assert "final policies" in told.err
    assert "not finished" in told.err
    with pytest.raises(BadValueError, match=r"no final policies.*not finished"):
        recall.film(folder, at="final")
    with pytest.raises(BadValueError, match="not finished"):
        recall.film(folder, ["point-poor"])


def test_policies_of_another_observation_are_refused(fleet_folder, tmp_path):
    folder = shutil.copytree(fleet_folder, tmp_path / "fleet")
    (path,) = folder.glob("policies/*seed3/final.npz")
    info, vectors = read_policy_file(path)
    size = info.shape.observation_size
    shape = dataclasses.replace(info.shape, observation_size=size + 1)
    wider = {task: np.zeros(shape.size, np.float32) for task in vectors}
    np.savez(path, **pack(dataclasses.replace(info, shape=shape), wider))
    with pytest.raises(BadValueError, match=f"takes {size + 1} numbers.*gives {size}"):
        recall.film(folder, at="final", out=tmp_path / "film.png")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"tasks": ["point-pore"]}, "did you mean 'point-poor'.*Valid: point-rich, point-poor"),
        ({"run": "nobody"}, "unknown run of this fleet 'nobody'"),
        ({"seed": 4}, "seed 4.* 3 5"),
        ({"at": "later"}, "unknown time 'later'"),
        ({"episodes": 0}, "episodes is 0; expected a whole number of at least 1"),
        ({"every": "a"}, "every is 'a'; expected a whole number"),
        ({"size": (8, 4)}, "size is 8; expected a whole number of at least 32"),
        ({"out": "film.avi"}, "film.avi: a film ends in .mp4 or .gif"),
    ],
)
def test_what_cannot_be_filmed_is_told(fleet_folder, arguments, told):
    with pytest.raises((BadValueError, UnknownNameError), match=told):
        recall.film(fleet_folder, **arguments)


def test_tasks_of_different_runs_are_not_in_one_film(tmp_path):
    folder = write_untrained(tmp_path, ["point-rich,point-poor", "point-slide,point-poor"])
    with pytest.raises(BadValueError, match=r"no single run.* point-rich, point-slide"):
        recall.film(folder, tasks=["point-rich", "point-slide"])


def test_a_gif_that_was_not_asked_for_replaces_none(fleet_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    (tmp_path / "film.gif").write_bytes(b"another film")
    with pytest.raises(BadValueError, match=r"ffmpeg.*film\.gif exists"):
        recall.film(fleet_folder, out=tmp_path / "film.mp4")
    assert (tmp_path / "film.gif").read_bytes() == b"another film"
