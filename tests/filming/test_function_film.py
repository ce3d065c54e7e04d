"""Films of tasks that are functions, and of folders with the policies of one time only."""

import pytest

import recall
from recall.cli import main
from recall.errors import RecallError
from tests.factories.environments import Blank
from tests.factories.policies import write_learnt, write_untrained


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
