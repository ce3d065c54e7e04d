"""Means of scores, differences by seed, and the one test that says which label is best."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from recall.analysis.collection import Collection, gather
from recall.analysis.estimates import difference, estimate, rank, shared_seeds
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
