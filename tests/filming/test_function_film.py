"""Films of tasks that are functions, and of folders with the policies of one time only."""

import gymnasium
import numpy as np
import pytest

import recall
from recall.cli import main
from recall.errors import RecallError
from tests.factories.policies import write_learnt, write_untrained


class Blank(gymnasium.Env):
    """Shows a white picture if it is made for that."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    observation_space = action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,))

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return np.zeros(2, np.float32), 1.0, False, False, {"success": True}

    def render(self):
        return np.full((48, 64, 3), 255, np.uint8)


def right():
    return Blank()


def drawn():
    return Blank("rgb_array")


def test_a_function_for_the_film_leaves_the_task_its_name(tmp_path):
    folder = write_untrained(tmp_path / "fleet", [right], horizon_steps=5)
    with pytest.raises(RecallError, match=r"""render_mode="rgb_array".*functions=\{'right': """):
        recall.film(folder, "right", tmp_path / "film.png", functions={"right": right})
    made = recall.film(folder, "right", tmp_path / "film.png", functions={"right": drawn})
    assert [take.task for take in made.takes] == ["right"]
    records = recall.evaluate(folder, 1, "right", functions={"right": drawn}, workers=1)
    assert {record["task"] for record in records} == {"right"}


def test_a_film_of_one_time_says_why(tmp_path, capsys):
    folder = write_untrained(tmp_path / "fleet", "point-rich,point-poor")
    film = ["film", str(folder), "--out", str(tmp_path / "film.png"), "--size", "32", "32"]

    def told(*options):
        main([*film, *options])
        return capsys.readouterr().err

    lacks = "the film lacks the policies of tasks just learnt: "
    (folder / "outcome.json").write_text('{"schema": 1, "failed": {}}')
    assert told().startswith(f"{lacks}they are missing: restore policies/")
    (folder / "archive.json").write_text('{"schema": 1}')
    assert told("--when", "both").startswith(f"{lacks}only the final policies of fine_tuning-")
    assert not told("--when", "after")
    write_learnt(folder)
    assert not told()
