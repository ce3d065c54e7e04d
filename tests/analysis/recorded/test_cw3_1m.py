"""CW3 at 1,000,000 steps: docs/results.md and the README say what the records say."""

import re
import tomllib

import numpy as np
import pytest

import recall
from recall.analysis import metrics
from recall.analysis.departures import departures
from recall.report import paper
from recall.report.tables.exploration import exploration_table
from tests.analysis.recorded.pages import (
    ROOT,
    SEQUENCES,
    mean_over_sequences,
    of_method,
    rounded,
    section,
    shown,
    successes,
    value,
)


@pytest.fixture(scope="module")
def text(page) -> str:
    return section(page, "CW3 at 1,000,000")


@pytest.fixture(scope="module")
def tasks(boards) -> np.ndarray:
    return successes(boards["cw3-1m"], "recall", metrics.final_successes)[0]


@pytest.fixture(scope="module")
def learnt(boards) -> np.ndarray:
    return successes(boards["cw3-1m"], "recall", metrics.trained_successes)[1]


@pytest.fixture(scope="module")
def final(boards) -> np.ndarray:
    return successes(boards["cw3-1m"], "recall", metrics.final_successes)[1]


@pytest.mark.parametrize("number", SEQUENCES)
def test_the_page_shows_every_sequence(boards, text, tasks, final, number):
    board = boards["cw3-1m"]
    found = [value(board, "RECALL", number, name) for name in ("average_performance", "forgetting")]
    theirs = paper.on_sequence(f"cw3-{number}", "average_performance", "recall").value
    each = ", ".join(f"{success:.1f}" for success in final[number - 1])
    assert shown(text, f"cw3-{number}:", slice(1, 5)) == [*rounded([*found, theirs]), each]
    assert shown(text, f"cw3-{number}:", slice(0, 1)) == [
        f"cw3-{number}: {', '.join(tasks[number - 1])}"
    ]


def test_the_pages_show_the_means(boards, text):
    board = boards["cw3-1m"]
    means = rounded(
        mean_over_sequences(board, "RECALL", name).value
        for name in ("average_performance", "forgetting")
    )
    assert shown(text, "mean", slice(1, 3)) == means
    readme = (ROOT / "README.md").read_text()
    assert shown(readme, r"RECALL \| 1,000,000", slice(2, 5)) == ["1", *means]
    assert f"average performance: {means[0]} and 0.92" in text


def test_the_page_says_where_it_lies_above_the_paper(boards, text):
    leads = {
        number: value(boards["cw3-1m"], "RECALL", number, "average_performance")
        - paper.on_sequence(f"cw3-{number}", "average_performance", "recall").value
        for number in SEQUENCES
    }
    above = [lead for lead in leads.values() if lead > 0]
    assert len(above) == 7
    low, high = rounded([min(above), max(above)])
    assert f"Seven sequences are above the paper's numbers, by {low} to {high}" in text
    assert f"sequence 3 is {-leads[3]:.2f} below" in text


def test_the_page_names_the_task_that_was_not_learnt(boards, text, tasks, final):
    assert np.count_nonzero(final >= 0.8 - 1e-9) == 23
    ((run, position),) = np.argwhere(final < 0.8 - 1e-9)
    assert (run + 1, position, tasks[run, position]) == (3, 1, "push-back")
    curve = of_method(boards["cw3-1m"], "recall")[2].curve(field="return")
    in_stage = (curve.steps > 1_000_000) & (curve.steps <= 2_000_000)
    returns = curve.success[in_stage, 1]
    assert -21.5 < returns.min() <= returns.max() < -16.5
    assert "its return is -17 to -21 in every evaluation" in text
    for sequence in (4, 5):
        curve = of_method(boards["cw3-1m"], "recall")[sequence - 1].curve()
        assert curve.success[curve.steps == 2_100_000, 2] == 1.0
    (table,) = exploration_table(boards["cw3-1m"])
    heads = [row.cells[0].text for row in table.rows if "push-back" in row.heading]
    assert heads == ["push-wall 1", "faucet-close 1"]


def test_the_page_says_when_the_hard_tasks_were_found(boards, text, tasks, final):
    hard = np.isin(tasks, ("stick-pull", "shelf-place"))
    assert np.count_nonzero(hard) == 6
    assert final[hard].min() >= 0.8 - 1e-9
    runs = {scale: of_method(boards[scale], "recall") for scale in ("cw3", "cw3-1m")}
    fewer = [metrics.final_successes(run.curve(), 2) for run in runs["cw3"] if run.seed == 0]
    assert np.count_nonzero(np.array(fewer)[hard] == 0.0) == 5
    for run, position in np.argwhere(hard):
        curve = runs["cw3-1m"][run].curve()
        assert curve.success[curve.steps == position * 1_000_000 + 300_000, position] >= 0.8
    assert "after 300,000 steps of their stages all six are at 0.8 or more already" in text


@pytest.mark.parametrize(("one", "other", "tasks"), [(3, 6, 1), (5, 8, 2)])
def test_runs_that_begin_with_the_same_tasks_are_equal_in_them(boards, text, one, other, tasks):
    runs = of_method(boards["cw3-1m"], "recall")
    first, second = (runs[number - 1].training for number in (one, other))
    rows = first["step"] < 1_000_000 * tasks
    assert np.count_nonzero(rows) >= 99 * tasks
    np.testing.assert_array_equal(first["loss_q"][rows], second["loss_q"][rows])
    assert "so the 24 tasks were learnt 21 times" in text


def test_nothing_is_forgotten(text, learnt, final):
    assert (learnt - final).max() == pytest.approx(0.1)
    assert "0.1 is the largest loss of a single task" in text


def test_the_settings_file_is_that_of_the_runs(boards):
    file = tomllib.loads((ROOT / "results" / "settings-1m.toml").read_text())
    (run, *_) = of_method(boards["cw3-1m"], "recall")
    apart = departures(run.method, run.settings, run.preset)
    found = {name.split(".")[-1]: value for name, value in apart.items()}
    for removed in ("scoring_episodes", "random_steps_after_copy"):
        found.pop(removed)
    assert found.items() <= file.items()
    assert run.steps_per_task == 1_000_000


def test_the_folder_names_the_commit(boards):
    commit = of_method(boards["cw3-1m"], "recall")[0].description["git"]["commit"]
    assert re.search(rf"cw3-1m/recall.*commit {commit[:7]} \|",
                     (ROOT / "results" / "README.md").read_text())  # fmt: skip


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_a_policy_of_every_sequence_can_be_loaded(sequence):
    folder = ROOT / "results" / "cw3-1m" / "recall"
    policy = recall.load_policy(folder, task=0, run=f"recall-cw3-{sequence}-seed0")
    assert policy.act(np.zeros(12), deterministic=True).shape == (4,)


def test_the_pages_picture_is_there():
    assert (ROOT / "docs" / "cw3-1m.png").stat().st_size > 10_000
