"""Runs before those of record: the pages say what their records say."""

import numpy as np
import pytest

from recall.analysis import metrics
from recall.analysis.collection import gather
from recall.analysis.run_result import RunResult
from tests.analysis.recorded.pages import (
    METRICS,
    ROOT,
    SEQUENCES,
    rounded,
    section,
    shown,
    value,
)


@pytest.fixture(scope="module")
def exploration() -> dict[str, list[RunResult]]:
    folders = (ROOT / "results" / "exploration-150k").iterdir()
    return {folder.name: gather(folder).runs for folder in folders}


def test_the_page_shows_recall_and_perfect_memory_at_250_000_steps(boards, page):
    board, text = boards["learning-250k"], section(page, "CW3 at 250,000")

    def row(number: int, metric: str) -> list[float]:
        return [value(board, label, number, metric) for label in ("PM", "RECALL")]

    for number in SEQUENCES:
        expected = rounded(row(number, "average_performance"))
        assert shown(text, f"{number}:", slice(1, 3)) == expected
    for first, metric in (("mean", METRICS[0]), ("forgetting", METRICS[1])):
        means = np.mean([row(number, metric) for number in SEQUENCES], axis=0)
        assert shown(text, first, slice(1, 3)) == rounded(means)


def test_the_page_shows_each_colour_on_each_task(exploration):
    page = (ROOT / "docs" / "learning.md").read_text()
    colours = {"white": 0.0, "pink": 1.0, "red": 2.0}
    successes: dict[str, dict[str, list[float]]] = {}
    for name, colour in colours.items():
        for run in exploration[f"alone-{name}"]:
            assert run.complete
            assert run.settings["schedule.noise_colour"] == colour
            (success,) = metrics.final_successes(run.curve(), window=2)
            successes.setdefault(run.tasks[0], {}).setdefault(name, []).append(success)
    assert len(successes) == 6
    for task, found in successes.items():
        row = " | ".join(f"{one:.1f}, {two:.1f}" for one, two in found.values())
        assert f"| {task} | {row} |" in page
    means = [np.mean([found[name] for found in successes.values()]) for name in colours]
    assert f"| mean | {' | '.join(rounded(means))} |" in page


@pytest.mark.parametrize(
    ("name", "start", "random_steps"),
    [
        ("pairs-pink", "from the best old head", 0),
        ("pairs-pink-random", "the same, and 10,000 random actions", 10_000),
    ],
)
def test_the_page_shows_how_second_tasks_were_found(exploration, name, start, random_steps):
    runs = exploration[name]
    assert all(run.complete for run in runs)
    assert {run.settings["schedule.random_steps_after_copy"] for run in runs} == {random_steps}
    learnt = np.array([metrics.trained_successes(run.curve(), window=2) for run in runs])
    row = f"| pink | {start} | {' | '.join(rounded(learnt.mean(axis=0)))} | "
    found = f"{np.count_nonzero(learnt[:, 1])} of {len(runs)} |"
    assert row + found in (ROOT / "docs" / "learning.md").read_text()


def test_the_page_counts_the_pegs_that_flew_away(exploration, boards):
    def lowest_rewards(runs: list[RunResult]) -> dict[str, list[float]]:
        lowest: dict[str, list[float]] = {}
        for run in runs:
            if run.method == "recall":
                for task in set(run.tasks):
                    bounds = run.training["q_lowest"][:, np.array(run.tasks) == task]
                    lowest.setdefault(task, []).append(np.nanmin(bounds) * (1.0 - 0.99))
        return lowest

    after = [
        run
        for name in ("cw3-1m", "pairs", "cw10", "cw10-three", "ablation", "ablation-three")
        for run in boards[name].collection.runs
    ]
    runs = [run for board in boards.values() for run in board.collection.runs if run not in after]
    runs += [run for each in exploration.values() for run in each]
    lowest = lowest_rewards(runs)
    pegs = np.array(lowest.pop("peg-unplug-side"))
    page = (ROOT / "docs" / "learning.md").read_text()
    assert f"{np.count_nonzero(pegs < -100.0)} of {len(pegs)} runs have one below -100" in page
    since = lowest_rewards(after)["peg-unplug-side"]
    assert min(since) > -100.0
    assert f"none of {len(since)} runs with peg-unplug-side has such a reward" in page
    assert min(map(min, lowest.values())) > -12.0
    assert len(lowest) == 9
