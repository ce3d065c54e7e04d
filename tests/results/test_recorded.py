"""The records in `results/`: they can be read, and say what docs/results.md says."""

import re
from pathlib import Path

import numpy as np
import pytest

import recall
from recall.results.collection import gather
from recall.results.scores import ScoreBoard

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "results" / "learning-250k"
MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def board() -> ScoreBoard:
    return ScoreBoard(gather(RECORDED))


def mean(board: ScoreBoard, label: str, metric: str) -> float:
    scores = [board.get(label, f"cw3-{number}") for number in range(1, 9)]
    return float(np.mean([score.metric(metric).value for score in scores]))


def test_every_run_is_complete_and_nothing_is_wrong(board):
    runs = board.collection.runs
    assert len(runs) == 62
    assert all(run.complete for run in runs)
    assert not board.collection.problems


def test_the_page_shows_what_the_records_say(board):
    page = (ROOT / "docs" / "results.md").read_text()
    for number in range(1, 9):
        (row,) = re.findall(rf"^\| {number}: .*", page, re.M)
        shown = [cell.strip(" *") for cell in row.split("|")[2:4]]
        values = [
            board.get(label, f"cw3-{number}").metric("average_performance").value
            for label in ("PM", "RECALL")
        ]
        assert shown == [f"{value:.2f}" for value in values]
    means = [mean(board, label, "average_performance") for label in ("PM", "RECALL")]
    assert re.search(rf"^\| mean \| {means[0]:.2f} \| \*\*{means[1]:.2f}\*\* \|", page, re.M)
    forgotten = [mean(board, label, "forgetting") for label in ("PM", "RECALL")]
    assert f"| forgetting, mean | {forgotten[0]:.2f} | {forgotten[1]:.2f} |" in page


def test_the_records_are_small():
    files = [path for path in (ROOT / "results").rglob("*") if path.is_file()]
    policies = sum(path.stat().st_size for path in files if "policies" in path.parts)
    assert policies <= 10 * MEGABYTE
    assert sum(path.stat().st_size for path in files) - policies <= 10 * MEGABYTE


@pytest.mark.parametrize("sequence", range(1, 9))
def test_a_policy_of_every_sequence_can_be_loaded(sequence):
    folder, run = RECORDED / "recall0", f"recall-cw3-{sequence}-seed0"
    for task in range(3):
        policy = recall.load_policy(folder, task=task, run=run)
        assert policy.act(np.zeros(12), deterministic=True).shape == (4,)
