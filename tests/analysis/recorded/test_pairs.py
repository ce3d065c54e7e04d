"""Pairs of tasks at 100,000 steps: docs/results.md says what the records say."""

import numpy as np
import pytest

from recall.analysis import metrics, shipped_references
from recall.report import paper
from recall.worlds.continual_world import TASKS
from tests.analysis.recorded.pages import ROOT, of_method, rounded, section, shown, successes


@pytest.fixture(scope="module")
def text(page) -> str:
    return section(page, "Pairs of tasks")


METHODS = ("perfect_memory", "recall")


def found(boards, method) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tasks [run, position], and their successes just learnt and at the end."""
    tasks, learnt = successes(boards["pairs"], method, metrics.trained_successes)
    return tasks, learnt, successes(boards["pairs"], method, metrics.final_successes)[1]


@pytest.fixture(scope="module")
def pairs(boards) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return found(boards, "recall")


@pytest.fixture(scope="module")
def of_perfect_memory(boards) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return found(boards, "perfect_memory")


def test_the_page_shows_the_means_over_pairs_beside_the_papers(boards, text):
    rows = {
        "first task at the end": "first_task",
        "second task at the end": "second_task",
        "forgetting of the first task": "first_task_forgetting",
    }
    expected = {row: [] for row in rows}
    for method in METHODS:
        _, learnt, final = found(boards, method)
        means = (*final.mean(axis=0), (learnt - final)[:, 0].mean())
        for row, mean in zip(rows, rounded(means), strict=True):
            expected[row].append(mean)
    for row, name in rows.items():
        theirs = rounded(paper.over_pairs(method, name).value for method in METHODS)
        assert shown(text, row, slice(1, 5)) == expected[row] + theirs
    replayed, learnt = expected["second task at the end"]
    told = f"at {learnt} with RECALL and at {replayed} with perfect memory (two seeds)"
    assert told in (ROOT / "README.md").read_text()


def test_the_page_shows_how_many_second_tasks_fail(boards, text):
    """The paper counts among 100 pairs."""
    never, little = (
        paper.over_pairs("perfect_memory", name).value
        for name in ("second_tasks_with_zero_success", "second_tasks_above_zero_below_half")
    )
    few = paper.over_pairs("recall", "second_tasks_below_half").value
    shares = []
    for method in METHODS:
        tasks, _, final = found(boards, method)
        means = [final[(tasks == pair).all(axis=1), 1].mean() for pair in np.unique(tasks, axis=0)]
        assert len(means) == 25
        shares.append([4 * np.count_nonzero(np.less(means, bound)) for bound in (1e-9, 0.5)])
    (none_pm, half_pm), (none_recall, half_recall) = shares
    rows = [
        ["without success", none_pm, none_recall, never, None],
        ["with less than half", half_pm, half_recall, never + little, few],
    ]
    for row, *values in rows:
        told = ["" if value is None else f"{value:.0f} %" for value in values]
        assert shown(text, f"share of second tasks {row}", slice(1, 5)) == told


def test_the_page_names_what_perfect_memory_learns_behind_what(boards, of_perfect_memory, text):
    tasks, _, final = of_perfect_memory
    first, second, end = tasks[:, 0], tasks[:, 1], final[:, 1]
    failed = np.count_nonzero(end == 0.0)
    assert f"{failed} of the 50 second tasks of single runs do not succeed once" in text
    again = (first == "faucet-close") & (second == "faucet-close")
    assert sorted(end[again].tolist()) == pytest.approx([0.0, 0.3])
    assert (end[second == "handle-press-side"] == 1.0).all()
    others = (second != "handle-press-side") & (first != second)
    assert f"where they follow a different task, end at {end[others].mean():.2f}" in text
    seeds = np.array([run.seed for run in of_method(boards["pairs"], "perfect_memory")])
    windows = (second == "window-close") & (first != second)
    assert (end[windows & (seeds == 1)] >= 0.9).all()
    assert (end[windows & (seeds == 0)] == 0.0).all()


def test_the_page_says_how_far_apart_the_scales_are(boards, of_perfect_memory, text):
    tasks, _, final = of_perfect_memory
    last = [run.training for run in of_method(boards["pairs"], "perfect_memory")]
    values, alphas = (
        np.array([rows[name][np.isfinite(rows[name][:, 1])][-1] for rows in last])
        for name in ("q_value", "alpha")
    )
    failed = final[:, 1] == 0.0
    low, high = values[failed, 1].min(), values[failed, 1].max()
    assert f"mean values between {low:.0f} and {high:,.0f} and temperatures below 5" in text
    assert alphas[failed, 1].max() < 5
    firsts, theirs = values[failed, 0] / 1e3, alphas[failed, 0]
    assert f"mean values of {firsts.min():.0f},000 to {firsts.max():.0f},000" in text
    assert f"temperatures of {theirs.min():.0f} to {theirs.max():.0f}" in text

    def behind(first):
        """The mean value of a first task, and how other second tasks end behind it."""
        rows = (tasks[:, 0] == first) & (tasks[:, 1] != first)
        hard = rows & (tasks[:, 1] != "handle-press-side")
        value = values[tasks[:, 0] == first, 0].mean() / 1e3
        return f"{value:.0f},000", f"{final[hard, 1].mean():.2f}"

    (push, end), (faucet, same) = behind("push"), behind("faucet-close")
    assert end == same
    peg, less = behind("peg-unplug-side")
    (window, few), (handle, little) = behind("window-close"), behind("handle-press-side")
    assert f"itself end at {end} after push and after faucet-close, whose values are {push}" in text
    assert f"{push} and {faucet} on average, after peg-unplug-side with {peg} at {less}," in text
    assert f"with {window} and {handle}, at {few} and {little}" in text


def test_faucet_close_is_learnt_behind_window_close_without_normalisation(
    boards, of_perfect_memory
):
    runs = [
        run
        for run in boards["ablation"].collection.runs
        if run.sequence == "cw6-2" and not run.settings["method.normalise_targets"]
    ]
    assert len(runs) == 6
    for run in runs:
        assert run.tasks[1:3] == ("window-close", "faucet-close")
        assert metrics.trained_successes(run.curve(), window=2)[2] >= 0.9
    tasks, _, final = of_perfect_memory
    assert (final[(tasks == ("window-close", "faucet-close")).all(axis=1), 1] <= 0.1).all()


def test_the_page_has_both_seeds_of_both_methods(boards, pairs, of_perfect_memory, text):
    ends = []
    for method, (_, _, final) in (("recall", pairs), ("perfect_memory", of_perfect_memory)):
        seeds = np.array([run.seed for run in of_method(boards["pairs"], method)])
        ends += rounded(final[seeds == seed, 1].mean() for seed in (0, 1))
    told = (
        "With seed 0 RECALL's second tasks end at {} and with seed 1 at {}, those of perfect memory"
    )
    assert f"{told} at {{}} and {{}}.".format(*ends) in text
    _, learnt, final = pairs
    assert np.min(final[:, 1]) == pytest.approx(0.3)
    lost = (learnt - final)[:, 0]
    assert np.count_nonzero(lost > 1e-9) == 1
    assert lost.max() == pytest.approx(0.2)


def test_runs_with_the_same_first_task_are_equal_in_it(boards):
    groups: dict[tuple[str, int], list] = {}
    for run in of_method(boards["pairs"], "perfect_memory"):
        groups.setdefault((run.tasks[0], run.seed), []).append(run.training)
    assert [len(group) for group in groups.values()] == [5] * 10
    for one, *others in groups.values():
        rows = one["step"] < 100_000
        assert np.count_nonzero(rows) >= 9
        for other in others:
            for column in one:
                np.testing.assert_array_equal(one[column][rows], other[column][rows])


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
    assert "no first task is lost and every second task is learnt to 0.6 or more" in text
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


def test_the_pages_pictures_are_there():
    for name in ("pairs-100k.png", "pairs-100k-perfect-memory.png"):
        assert (ROOT / "docs" / name).stat().st_size > 10_000
