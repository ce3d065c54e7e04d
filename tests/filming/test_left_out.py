"""Films of tasks that cannot be drawn, or that a sequence repeats."""

from functools import partial

import gymnasium
import pytest

import recall
from recall.cli import main
from tests.factories.environments import Blank
from tests.factories.policies import write_untrained


class WithoutMode(Blank):
    """An environment whose constructor takes no render_mode."""

    def __init__(self):
        super().__init__()


class WithoutImage(Blank):
    """An environment whose render() returns nothing."""

    def render(self):
        return None


class Undeclared(Blank):
    """An environment that takes render_mode and does not declare the mode."""

    metadata = {"render_modes": []}  # noqa: RUF012


class Broken(Blank):
    """An environment whose drawing fails."""

    def render(self):
        raise ZeroDivisionError("no width\nand no height")


WHY = {
    WithoutMode: "argument 'render_mode'",
    WithoutImage: "returned None",
    Undeclared: "no render_modes",
    Broken: "no width and no height",
}


@pytest.fixture(autouse=True)
def registered():
    for kind in (Blank, *WHY):
        name = f"Left/{kind.__name__}-v0"
        if name not in gymnasium.registry:
            gymnasium.register(name, entry_point=kind, max_episode_steps=5)


def id_of(kind):
    return f"gym:Left/{kind.__name__}-v0"


@pytest.mark.filterwarnings("error")
def test_the_tasks_that_can_be_drawn_are_filmed_and_others_told_in_one_line(tmp_path, capsys):
    kinds = (*WHY, Blank, WithoutMode)
    folder = write_untrained(tmp_path / "fleet", ",".join(map(id_of, kinds)))
    out = tmp_path / "film.png"
    made = recall.film(folder, out=out, size=(32, 32))
    assert [take.task for take in made.takes] == [id_of(Blank)]
    assert out.exists()
    names = [f"1 {id_of(WithoutMode)}", *map(id_of, [*WHY][1:]), f"6 {id_of(WithoutMode)}"]
    assert list(made.left_out) == names
    for why, told in zip(WHY.values(), made.left_out.values(), strict=False):
        assert why in told
    main(["film", str(folder), "--out", str(out), "--size", "32", "32", "--at", "final"])
    lines = capsys.readouterr().err.splitlines()
    assert all(why in line for line, why in zip(lines, made.left_out.values(), strict=True))


def test_without_any_task_that_can_be_drawn_there_is_no_film(tmp_path, capsys):
    folder = write_untrained(tmp_path / "fleet", ",".join(map(id_of, (WithoutMode, WithoutImage))))
    with pytest.raises(SystemExit):
        main(["film", str(folder), "--out", str(tmp_path / "film.png")])
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"recall: {id_of(WithoutMode)} cannot be drawn")
    assert all(WHY[kind] in line for kind in (WithoutMode, WithoutImage))
    assert not (tmp_path / "film.png").exists()


def test_functions_are_drawn_with_the_ones_given_for_the_film(tmp_path):
    def unseen():
        return Blank()

    def seen():
        return Blank("rgb_array")

    folder = write_untrained(tmp_path / "fleet", [unseen, seen], horizon_steps=5)
    functions = {"unseen": unseen, "seen": seen}
    film = partial(recall.film, folder, out=tmp_path / "film.png", size=(32, 32))
    made = film(functions=functions)
    assert [take.task for take in made.takes] == ["seen"]
    assert "render_mode" in made.left_out["unseen"]
    made = film(functions=functions | {"unseen": lambda: Blank("rgb_array")})
    assert [take.task for take in made.takes] == ["unseen", "seen"]
