"""RECALL with at most three old tasks in an update: docs/results.md says what the records say."""

import json
import re

import numpy as np
import pytest

from recall.analysis import metrics
from recall.analysis.departures import OLD_TASKS
from recall.analysis.differences import paired_difference
from tests.analysis.recorded.pages import (
    METRICS,
    ROOT,
    intervals,
    of_method,
    rounded,
    section,
    shown,
    successes,
    with_interval,
)

FOLDERS = {"cw10": ("cw10", "cw10-three"), "cw6": ("ablation", "ablation-three")}
"""Folders of the runs with at most four and at most three old tasks in an update."""
SEQUENCES = {"cw10": ["cw10"], "cw6": ["cw6-1", "cw6-2"]}
STAGE = 200_000


@pytest.fixture(scope="module")
def text(page) -> str:
    return section(page, "Three old tasks in an update")


@pytest.fixture(scope="module")
def learnt(boards) -> tuple[np.ndarray, np.ndarray]:
    """Successes [seed, task] on CW10 just after each task was learnt, with four and three."""
    four, three = (
        successes(boards[folder], "recall", metrics.trained_successes)[1]
        for folder in FOLDERS["cw10"]
    )
    return four, three


def ahead(boards, family, metric="average_performance"):
    """How far RECALL is higher with four old tasks than with three, over the sequences."""
    four, three = (boards[folder] for folder in FOLDERS[family])
    pairs = [(four.get("RECALL", name), three.get("RECALL", name)) for name in SEQUENCES[family]]
    return paired_difference(pairs, metric)


@pytest.mark.parametrize(
    ("family", "sequence"), [(family, name) for family in SEQUENCES for name in SEQUENCES[family]]
)
def test_the_page_shows_all_metrics_with_four_and_with_three(boards, text, family, sequence):
    for folder, number in zip(FOLDERS[family], ("four", "three"), strict=True):
        scores = boards[folder].get("RECALL", sequence)
        estimates = [scores.metric(name).estimate for name in METRICS]
        row = f"{sequence}, {number} "
        assert shown(text, row, slice(1, 4)) == rounded(each.value for each in estimates)
        bounds = [", ".join(rounded(each.interval)) for each in estimates]
        assert intervals(text, row, slice(1, 4)) == bounds


def test_the_runs_differ_in_nothing_else(boards):
    for four, three in FOLDERS.values():
        runs = {run.name: run for run in boards[three].collection.runs}
        others = [run for run in boards[four].collection.runs if run.label == "RECALL"]
        assert {run.name for run in others} == set(runs)
        for other in others:
            one, two = other.settings, runs[other.name].settings
            assert {name for name in one | two if one.get(name) != two.get(name)} == {OLD_TASKS}


@pytest.mark.parametrize("family", SEQUENCES)
def test_the_page_says_that_seeds_do_not_decide_between_the_two(boards, text, family):
    difference = ahead(boards, family)
    low, high = difference.interval
    assert low < 0 < high
    assert f"four is {with_interval(difference)} ahead" in text


def test_the_page_says_how_the_seeds_end_on_ten_tasks(boards, text):
    four, three = (
        rounded(successes(boards[folder], "recall", metrics.final_successes)[1].mean(axis=1))
        for folder in FOLDERS["cw10"]
    )
    assert "{}, {} and {}, with four at {}, {} and {}".format(*three, *four) in text
    readme = (ROOT / "README.md").read_text()
    performance = boards["cw10-three"].get("RECALL", "cw10").metric("average_performance")
    assert f"three runs end at {with_interval(performance.estimate)}" in readme


def test_the_page_says_which_tasks_are_learnt_less_well(boards, text, learnt):
    four, three = learnt
    for words, part in (("The first four tasks, .*", slice(4)), ("The last six ", slice(4, 10))):
        values = rounded(each[:, part].mean() for each in (three, four))
        told = rf"{words}are learnt to {values[0]} with three and {values[1]} with four"
        assert re.search(told, text)
    by_seed = (four - three)[:, 4:].mean(axis=1)
    half = 2.92 * by_seed.std(ddof=1) / np.sqrt(3)  # Student's t with 2 degrees of freedom, 90 %
    bounds = rounded([by_seed.mean(), by_seed.mean() - half, by_seed.mean() + half])
    assert "a difference of {} [{}, {}]".format(*bounds) in text
    tasks = list(boards["cw10"].get("RECALL", "cw10").tasks)
    shelf = tasks.index("shelf-place")
    values = rounded(each[:, shelf].mean() for each in (three, four))
    assert "shelf-place is learnt to {} with three and {} with four".format(*values) in text
    lower = (four - three).mean(axis=0)
    assert lower[shelf] > lower[4:].sum() / 2  # more than half of it is one task
    for task in ("push-wall", "push-back"):
        assert np.argmin(three[:, tasks.index(task)]) == 2
    assert "hammer, the first task, is learnt to 0.2 with four and to 1.0 with three" in text
    assert [each[2, 0] for each in (four, three)] == pytest.approx([0.2, 1.0])


def test_the_page_says_how_well_old_tasks_are_kept(boards, text):
    halves = []
    for run in of_method(boards["cw10-three"], "recall"):
        curve = run.curve()
        for task in range(9):
            later = curve.success[curve.steps > (task + 1) * STAGE, task]
            half = len(later) // 2
            halves.append([later[:half].mean(), later[half:].mean()])
    first, second = rounded(np.mean(halves, axis=0))
    assert f"{first} in the first half of the later evaluations and {second} in" in text
    assert f"falls by more than {-np.diff(halves).min():.2f} (0.08 with four)" in text
    four, three = (boards[folder].get("RECALL", "cw10") for folder in FOLDERS["cw10"])
    higher = with_interval(paired_difference([(three, four)], "forgetting"))
    assert f"Forgetting is {higher} higher" in text


def test_the_page_says_how_far_three_is_ahead_of_other_methods(boards, text):
    recall = boards["cw10-three"].get("RECALL", "cw10")
    for label, words in (
        ("ClonEx", "of ClonEx by {}"),
        ("PackNet", "of PackNet by {}"),
        ("Fine-tuning", "of fine-tuning by {}"),
    ):
        other = boards["cw10"].get(label, "cw10")
        lead = with_interval(paired_difference([(recall, other)], "average_performance"))
        assert words.format(lead) in text


def test_the_page_says_how_long_it_took_and_the_folder_which_commit(boards, text):
    for folder, seconds in (("cw10-three", 23 * 60 + 25), ("ablation-three", 18 * 60 + 26)):
        (fleet,) = json.loads((ROOT / "results" / folder / "study.json").read_text())["fleets"]
        assert round(fleet["seconds"]) == seconds
    assert "CW10 took 23 minutes and 25 seconds and CW6 18 minutes and 26 seconds" in text
    table = (ROOT / "results" / "README.md").read_text()
    for _, folder in FOLDERS.values():
        (commit,) = {run.description["git"]["commit"] for run in boards[folder].collection.runs}
        assert re.search(rf"`{folder}/.*commit {commit[:7]} \|", table)
