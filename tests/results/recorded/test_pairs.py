"""Pairs of tasks at 100,000 steps: docs/results.md says what the records say."""

import numpy as np
import pytest

from recall.results import metrics, shipped_references
from recall.worlds.continual_world import TASKS
from tests.results.recorded.pages import ROOT, rounded, section, shown, successes


@pytest.fixture(scope="module")
def text(page) -> str:
    return section(page, "Pairs of tasks")


@pytest.fixture(scope="module")
def pairs(boards) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tasks [run, position], and their successes just learnt and at the end."""
    tasks, learnt = successes(boards["pairs"], "recall", metrics.trained_successes)
    return tasks, learnt, successes(boards["pairs"], "recall", metrics.final_successes)[1]


def test_the_page_shows_the_means_over_pairs(text, pairs):
    _, learnt, final = pairs
    first, second = rounded(final.mean(axis=0))
    (forgotten,) = rounded([(learnt - final)[:, 0].mean()])
    rows = ("first task", "second task", "forgetting of the first task")
    assert [shown(text, row, slice(1, 2)) for row in rows] == [[first], [second], [forgotten]]


def test_the_page_says_what_is_kept_and_learnt(text, pairs):
    tasks, learnt, final = pairs
    names = sorted(set(tasks.ravel()))
    means = {
        (one, two): [
            found[(tasks == (one, two)).all(axis=1)].mean(axis=0) for found in (learnt, final)
        ]
        for one in names
        for two in names
    }
    gains = {pair: after[0] - before[0] for pair, (before, after) in means.items()}
    assert min(gains.values()) == pytest.approx(0.0)
    assert {one for (one, _), gain in gains.items() if gain > 0.01} == {"push", "peg-unplug-side"}
    assert f"improve by up to {max(gains.values()):.2f} while" in text
    second = {pair: after[1] for pair, (_, after) in means.items()}
    assert min(second.values()) == pytest.approx(0.6)
    assert "**Every second task is learnt to 0.6 or more.**" in text
    low = {two for (_, two), value in second.items() if value < 0.94}
    assert low == {"push", "peg-unplug-side"}
    push, peg = (learnt[tasks[:, 0] == name, 0].mean() for name in ("push", "peg-unplug-side"))
    assert f"push (as a first task {push:.2f}) and peg-unplug-side ({peg:.2f})" in text


def test_the_five_tasks_are_those_that_plain_sac_knows_best_after_90_000_steps(pairs):
    known: dict[str, list[float]] = {}
    for run in shipped_references.shipped_references():
        curve = run.curve()
        known.setdefault(run.tasks[0], []).append(curve.success[curve.steps == 90_000, 0].item())
    order = sorted(TASKS, key=lambda task: -np.mean(known[task]))
    assert set(order[:5]) == set(pairs[0].ravel())
    assert np.mean(known[order[4]]) > np.mean(known[order[5]])


def test_the_pages_picture_is_there():
    assert (ROOT / "docs" / "pairs-100k.png").stat().st_size > 10_000
