"""Means and intervals, differences by seed, and the one test that says which label is best."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from recall.analysis import estimates
from recall.analysis.collection import Collection, gather
from recall.analysis.estimates import Sampled, difference, estimate, rank, shared_seeds
from recall.analysis.frames import SCORES, analyse, select
from recall.analysis.metrics import FORGETTING, PERFORMANCE, TRANSFER
from tests.factories.folders import write_fleet
from tests.factories.runs import made_run


def rows_of(label, values, seeds=None, sequence="push", steps=1000, column="final"):
    """Return rows of one task and one label, a value for each seed."""
    seeds = range(len(values)) if seeds is None else seeds
    known = {"label": label, "sequence": sequence, "position": 0, "steps_per_task": steps}
    known |= {"seeds": tuple(seeds)}
    rows = [{**known, "seed": seed, column: v} for seed, v in zip(seeds, values, strict=True)]
    return pd.DataFrame(rows, columns=list(SCORES))


def test_a_mean_is_over_tasks_then_runs_then_sequences():
    runs = [made_run("recall", "push,hammer", seed) for seed in range(4)]
    runs += [made_run("recall", "push,hammer,window-close", seed) for seed in range(2)]
    scores = analyse(Collection(tuple(runs))).scores
    by_hand = [select(scores, tasks=tasks)["final"].mean() for tasks in (2, 3)]
    found = estimate(scores, PERFORMANCE)
    assert found.value == pytest.approx(np.mean(by_hand))
    low, high = found.estimate.interval
    assert low < found.value < high
    places = scores.groupby(["sequence", "position"])["final"].mean()
    assert estimate(scores, PERFORMANCE, places=True).value == pytest.approx(places.mean())
    assert estimate(scores, TRANSFER) is None
    assert estimate(scores[:0], PERFORMANCE) is None


def test_a_mean_over_sequences_needs_a_number_of_each(tmp_path):
    write_fleet(tmp_path / "a", "recall", ["push,hammer", "push,window-close"])
    write_fleet(tmp_path / "b", sequence=[["push"], ["hammer"]], success=lambda *_: 0.5)
    scores = analyse(gather(tmp_path)).scores
    assert estimate(select(scores, sequence="push,hammer"), TRANSFER).value == pytest.approx(0.25)
    assert estimate(scores, TRANSFER) is None
    assert estimate(scores, PERFORMANCE).value == 1.0


def test_differences_are_over_shared_seeds_with_students_interval():
    ours = rows_of("a", [0.9, 0.8, 0.4], seeds=(0, 1, 2))
    theirs = rows_of("b", [0.5, 0.6, 0.9], seeds=(0, 1, 3))
    found = difference(ours, theirs, PERFORMANCE)
    assert shared_seeds(ours, theirs) == 2
    assert found.value == pytest.approx(0.3)
    known = stats.t.interval(0.9, 1, loc=0.3, scale=stats.sem([0.4, 0.2]))
    assert found.interval == pytest.approx(known)
    assert difference(ours, rows_of("b", [0.1], seeds=(9,)), PERFORMANCE) is None
    assert difference(ours, rows_of("b", [0.1], seeds=(0,)), PERFORMANCE).interval is None
    assert difference(ours, rows_of("b", [0.1], sequence="x"), PERFORMANCE) is None


def test_sequences_of_one_seed_stay_together_in_differences():
    ours = pd.concat(rows_of("a", v, sequence=s) for s, v in (("x", [1, 0]), ("y", [0, 1])))
    theirs = pd.concat(rows_of("b", [0, 0], sequence=s) for s in ("x", "y"))
    # Each seed is ahead by 0.5 on the mean of both sequences: there is no spread.
    assert difference(ours, theirs, PERFORMANCE) == (0.5, (0.5, 0.5))


def test_the_best_is_decided_by_differences_and_not_by_overlapping_intervals():
    # Both spread widely, but one is 0.1 ahead with every seed.
    spread = np.array([0.1, 0.5, 0.8])
    close = np.array([0.0, 0.01, 0.0])
    found = rank({"a": rows_of("a", spread + 0.1), "b": rows_of("b", spread + close)}, PERFORMANCE)
    assert (found.best, found.undecided, found.bold) == ("a", (), {"a"})
    assert found.differences["b"].interval[0] > 0
    apart = {"a": rows_of("a", [0.9, 0.5, 0.9]), "b": rows_of("b", [0.5, 0.6, 0.6])}
    found = rank(apart, PERFORMANCE)
    assert (found.best, found.undecided, found.bold) == ("a", ("b",), {"a", "b"})


def test_less_forgetting_is_better_and_equal_values_are_undecided():
    groups = {
        label: rows_of(label, values, column="forgotten")
        for label, values in (("a", [0.5, 0.51]), ("b", [0.1, 0.11]), ("c", [0.11, 0.1]))
    }
    found = rank(groups, FORGETTING)
    assert found.best in ("b", "c")
    assert found.bold == {"b", "c"}
    rounded = {"a": rows_of("a", [0.1 + 0.2] * 2), "b": rows_of("b", [0.3] * 2)}
    assert rank(rounded, PERFORMANCE).bold == {"a", "b"}


def test_only_what_compares_is_ranked():
    good, bad = [0.9, 0.91, 0.9], [0.1, 0.12, 0.1]
    groups = {"a": rows_of("a", bad), "b": rows_of("b", [0.2, 0.21, 0.2])}
    longer = rows_of("longer", good, steps=2000)
    elsewhere = rows_of("elsewhere", good, sequence="x")
    single, strange = rows_of("single", [1.0]), rows_of("strange", good, seeds=(7, 8, 9))
    more = {"longer": longer, "elsewhere": elsewhere, "single": single}
    assert rank({**groups, **more}, PERFORMANCE).bold == {"b"}
    assert rank({"a": groups["a"], "longer": longer}, PERFORMANCE).best is None
    assert rank({"a": groups["a"]}, PERFORMANCE).best is None
    assert rank({"a": groups["a"], "strange": strange}, PERFORMANCE).best is None


def test_negative_transfer_is_never_bold():
    def ranked(**values):
        rows = {name: rows_of(name, each, column="transfer") for name, each in values.items()}
        return rank(rows, TRANSFER)

    for values in (
        {"a": [-0.1, -0.11], "b": [-0.5, -0.51]},
        {"a": [-0.1, -0.5], "b": [-0.5, -0.2]},
    ):
        found = ranked(**values)
        assert (found.best, found.bold) == ("a", set())
    assert ranked(a=[0.3, 0.0], b=[-0.2, 0.1]).bold == {"a"}


def test_the_interval_is_that_of_all_resamples():
    assert estimates.mean(np.array([0.3]), "a").estimate == (0.3, None)
    values = np.array([0.0, 0.1, 0.4, 1.0])
    every = np.sort([np.mean(chosen) for chosen in product(values, repeat=4)])
    _, (low, high) = estimates.mean(values, "a").estimate
    assert low == pytest.approx(np.quantile(every, 0.05), abs=0.03)
    assert high == pytest.approx(np.quantile(every, 0.95), abs=0.03)


def test_transfer_resamples_runs_and_references():
    references = {"t": np.array([0.0, 0.5])}
    weights = estimates.weights_by_seed([0, 1, 2], [0, 1, 2], "a")
    whole = estimates.forward_transfer(np.full((3, 1), 0.75), ["t"], references, weights)
    # The reference's area is drawn as 0, 0.25 or 0.5 with odds 1 : 2 : 1.
    assert whole.value == pytest.approx(2 / 3)
    assert whole.estimate.interval == pytest.approx((0.5, 0.75))
    twice = estimates.forward_transfer(np.full((3, 2), 0.75), ["t", "t"], references, weights)
    assert np.array_equal(twice.draws, whole.draws)
    fixed = {"t": np.array([0.25, 0.25])}
    areas = np.array([[0.25], [1.0]])
    weights = estimates.weights_by_seed([0, 1], [0, 1], "a")
    moved = estimates.forward_transfer(areas, ["t"], fixed, weights)
    assert moved.estimate.interval == pytest.approx((0.0, 1.0))


def test_a_task_stays_in_the_draws_whose_reference_leaves_nothing_to_gain():
    # Both references are drawn as 1 in a quarter of the draws: then FT of "t" has no lower bound.
    references = {"t": np.array([0.0, 1.0]), "u": np.array([0.0, 0.0])}
    weights = estimates.weights_by_seed([0, 1], [0, 1], "a")
    whole = estimates.forward_transfer(np.full((2, 2), 0.5), ["t", "u"], references, weights)
    assert whole.value == pytest.approx((0.0 + 0.5) / 2)
    assert whole.estimate.interval == (-np.inf, 0.5)
    assert np.isneginf(whole.draws).mean() == pytest.approx(0.25, abs=0.03)
    # Nothing is lost by a run that is perfect too.
    same = estimates.forward_transfer(np.ones((2, 1)), ["t"], references, weights)
    assert same.estimate.interval == (0.0, 1.0)


def test_seeds_stay_together_where_a_sequence_lacks_one():
    # What a seed is worth, on every sequence alike: more sequences do not make it surer.
    worth = np.array([0.0, 0.2, 0.4, 0.6, 1.0])
    seeds = [0, 1, 2, 3, 4]

    def sampled(missing: int | None) -> Sampled:
        had = [seed for seed in seeds if seed != missing]
        weights = estimates.weights_by_seed(had, seeds, "a")
        return estimates.weighted_mean(worth[had], weights)

    def width(parts: list[Sampled]) -> float:
        low, high = estimates.mean_of(parts).estimate.interval
        return high - low

    whole = width([sampled(None)] * 5)
    assert width([sampled(missing) for missing in seeds]) == pytest.approx(whole, rel=0.1)
    single = estimates.weighted_mean(worth, estimates.weights_by_seed(seeds, seeds, "a"))
    assert single.estimate == estimates.mean(worth, "a").estimate
    assert estimates.weights_by_seed([3, 3], seeds, "a") is None


@pytest.mark.parametrize("size", [1, 2, 7, 8, 30])
def test_the_interquartile_mean_is_the_trimmed_one(size):
    values = np.random.default_rng(size).random(size)
    assert estimates.middle_mean(values) == pytest.approx(stats.trim_mean(values, 0.25))


def test_the_interquartile_mean_has_an_interval():
    values = np.random.default_rng(0).random((5, 4))
    estimate = estimates.sampled_interquartile_mean(values, "a").estimate
    assert estimate.interval[0] < estimate.value < estimate.interval[1]
    same = estimates.sampled_interquartile_mean(np.tile(values[:1], (3, 1)), "a").estimate
    assert same.interval == pytest.approx((same.value, same.value))
