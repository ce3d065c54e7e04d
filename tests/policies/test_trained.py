"""The policies that come with the package act and are filmed by the name of their task."""

from pathlib import Path

import pytest

import recall
from recall.cli import main
from recall.errors import BadValueError
from recall.policies.policy import TRAINED, trained_tasks
from recall.worlds.sequences import parse_sequence

RESULTS = Path(__file__).parents[2] / "results" / "cw10-n-step" / "recall"


def solved(task: str, episodes: int) -> int:
    """Return how many episodes the policy of a task solves."""
    policy = recall.load_policy(task)
    env = recall.make(policy.task, **policy.world)
    count = 0
    for seed in range(episodes):
        (observation, info), over = env.reset(seed=seed), False
        while not (over or info.get("success")):
            observation, _, terminated, over, info = env.step(policy.act(observation))
            over |= terminated
        count += bool(info["success"])
    env.close()
    return count


def test_a_policy_acts_by_the_name_of_its_task():
    assert solved("handle-press-side", 3) == 3


@pytest.mark.slow
@pytest.mark.parametrize("task", parse_sequence("cw10").tasks)
def test_every_robot_task_is_solved(task):
    assert solved(task, 6) >= 5


def test_they_are_those_of_the_results():
    files = {path.relative_to(TRAINED) for path in TRAINED.glob("policies/*/*.npz")}
    for path in files:
        assert (TRAINED / path).read_bytes() == (RESULTS / path).read_bytes()
    trained = {task for name in files for task in recall.load_policy(TRAINED / name, 0).info.tasks}
    assert trained == set(trained_tasks()) == set(parse_sequence("cw10").tasks)


def test_a_robot_is_filmed_by_the_name_of_its_task(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    main(["film", "--task", "handle-press-side", "--sheet", "--size", "64", "48"])
    assert "1 of 1" in capsys.readouterr().out
    assert (tmp_path / "handle-press-side.png").stat().st_size > 1_000
    with pytest.raises(SystemExit):
        main(["film", "--task", "hamster"])
    assert "did you mean 'hammer'" in capsys.readouterr().err


def test_a_path_comes_before_a_task_of_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("hammer").mkdir()
    with pytest.raises(BadValueError, match="hammer holds no results"):
        recall.load_policy("hammer")
