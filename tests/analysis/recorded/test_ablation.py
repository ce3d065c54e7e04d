"""The ablation at 200,000 steps: docs/results.md says what the records say."""

import json
import re

import numpy as np
import pytest

from recall.analysis import metrics
from recall.analysis.bootstrap import mean_of
from recall.analysis.differences import paired_difference
from recall.report import paper
from tests.analysis.recorded.pages import (
    METRICS,
    ROOT,
    intervals,
    rounded,
    section,
    shown,
    with_interval,
)

SEQUENCES = ("cw6-1", "cw6-2")
NEITHER, TN, PD, RECALL = (
    "RECALL, no normalisation, no distillation",
    "RECALL, no distillation",
    "RECALL, no normalisation",
    "RECALL",
)
ROWS = {NEITHER: "without either", TN: "TN \\|", PD: "PD \\|", RECALL: "TN and PD: RECALL"}
"""Labels of the variants, and how their rows go on behind the sequence."""


@pytest.fixture(scope="module")
def board(boards):
    return boards["ablation"]


@pytest.fixture(scope="module")
def text(page) -> str:
    return section(page, "Ablation at 200,000")


def run_of(board, label, name):
    (run,) = [run for run in board.collection.runs if (run.label, run.name) == (label, name)]
    return run


@pytest.mark.parametrize("sequence", SEQUENCES)
@pytest.mark.parametrize("label", ROWS)
def test_the_page_shows_all_metrics(board, text, label, sequence):
    row = f"{sequence}, {ROWS[label]}"
    scores = board.get(label, sequence)
    estimates = [scores.metric(name).estimate for name in METRICS]
    assert shown(text, row, slice(1, 4)) == rounded(each.value for each in estimates)
    bounds = [", ".join(rounded(each.interval)) for each in estimates]
    assert intervals(text, row, slice(1, 4)) == bounds
    theirs = paper.on_sequence(sequence, "average_performance", "recall").value
    assert shown(text, row, slice(4, 5)) == ([f"{theirs:.2f}"] if label == RECALL else [""])
    assert f"{sequence} is {', '.join(scores.tasks[:3])}, twice" in text
    assert scores.tasks[:3] == scores.tasks[3:]


def test_the_page_says_how_long_it_took_and_the_folder_which_commit(board, text):
    study = json.loads((ROOT / "results" / "ablation" / "study.json").read_text())
    seconds = {fleet["name"]: round(fleet["seconds"]) for fleet in study["fleets"]}
    assert seconds == {
        "none": 16 * 60 + 5,
        "tn": 22 * 60 + 52,
        "pd": 16 * 60 + 51,
        "tn+pd": 22 * 60 + 1,
    }
    for told in (
        "without either took 16 minutes and 5 seconds",
        "TN took 22 minutes and 52 seconds",
        "TN with PD 22 minutes and 1 second.",
        "trained PD from the beginning, without MPS, in 16 minutes and 51 seconds",
    ):
        assert told in text
    table = (ROOT / "results" / "README.md").read_text()
    for run in board.collection.runs:
        commit = run.description["git"]["commit"][:7]
        assert re.search(rf"`ablation/{re.escape(run.folder.name)}`.*commit {commit} \|", table)


@pytest.mark.parametrize(
    ("label", "normalises", "distils"),
    [(NEITHER, False, False), (TN, True, False), (PD, False, True), (RECALL, True, True)],
)
def test_the_variants_are_what_they_are_called(board, label, normalises, distils):
    runs = [run for run in board.collection.runs if run.label == label]
    assert len(runs) == 6
    for run in runs:
        assert run.settings["method.normalise_targets"] is normalises
        assert run.settings["method.distil"] is distils


def ahead(board, *pairs, metric="average_performance"):
    """How far the first variants of pairs are ahead of the second ones, over both sequences."""
    scores = [(board.get(one, at), board.get(two, at)) for one, two in pairs for at in SEQUENCES]
    return paired_difference(scores, metric)


WITH_TN, WITH_PD = [(RECALL, PD), (TN, NEITHER)], [(RECALL, TN), (PD, NEITHER)]


def test_the_page_says_how_far_the_variants_are_apart(board, page, text):
    mean = {
        label: mean_of([board.get(label, name).performance for name in SEQUENCES]).value
        for label in ROWS
    }
    told = "{3}, against {1} with TN, {2} with PD and {0} without either"
    assert told.format(*rounded(mean.values())) in text
    claims = section(page, "The paper's claims")
    claim = "RECALL reaches {3}, {1} without distillation, {2} without normalisation and {0}"
    assert claim.format(*rounded(mean.values())) in claims
    for told in (
        f"{with_interval(ahead(board, (RECALL, NEITHER)))} ahead of the variant without either",
        f"{with_interval(ahead(board, (RECALL, TN)))} ahead of TN and",
        f"{with_interval(ahead(board, (RECALL, PD)))} ahead of PD.",
        f"TN adds {with_interval(ahead(board, *WITH_TN))} and",
        f"PD {with_interval(ahead(board, *WITH_PD))}.",
    ):
        assert told in text
    for pairs in ([(RECALL, NEITHER)], [(RECALL, TN)], [(RECALL, PD)], WITH_TN, WITH_PD):
        low, high = ahead(board, *pairs).interval
        assert low < 0 < high, "told as undecided"
    behind = with_interval(ahead(board, (RECALL, NEITHER)))
    assert f"without these two is {behind} behind RECALL" in claims


def test_the_page_says_what_normalisation_adds_to_transfer(board, page, text):
    means = [
        mean_of([board.get(label, name).forward_transfer for name in SEQUENCES]).value
        for label in (RECALL, TN, PD, NEITHER)
    ]
    assert "{} and {} with TN and {} and {} without".format(*rounded(means)) in text

    def added(*pairs):
        return with_interval(ahead(board, *pairs, metric="forward_transfer"))

    with_pd, without = map(added, WITH_TN)
    over_both = added(*WITH_TN)
    assert f"With PD the difference is {with_pd}, without it {without}, over both" in text
    assert f"over both {over_both}. PD adds nothing to it: {added(*WITH_PD)}." in text
    claims = section(page, "The paper's claims")
    assert f"it adds {over_both} to forward transfer" in claims


def test_the_readme_shows_both_ends_of_the_ablation(board):
    ends = [board.get(RECALL, name).performance.estimate for name in SEQUENCES]
    bare = [board.get(NEITHER, name).performance.value for name in SEQUENCES]
    theirs = [paper.on_sequence(name, "average_performance", "recall").value for name in SEQUENCES]
    readme = (ROOT / "README.md").read_text()
    assert "RECALL ends at {} and {}".format(*map(with_interval, ends)) in readme
    assert "the paper has {} and {} after 1,000,000.".format(*rounded(theirs)) in readme
    assert "distillation it ends at {} and {}".format(*rounded(bare)) in readme


def test_recall_comes_near_the_papers_values(board, text):
    for name in SEQUENCES:
        theirs = paper.on_sequence(name, "average_performance", "recall").value
        assert abs(board.get(RECALL, name).performance.value - theirs) <= 0.02
    assert "within 0.02 of the paper's values" in text


def test_little_is_left_to_add(board, text):
    rooms = [1.0 - board.get(NEITHER, name).performance.value for name in SEQUENCES]
    assert "without either is only {} and {} below 1".format(*rounded(rooms)) in text


def test_the_page_names_the_largest_losses(board, text):
    lost = {
        (run.label, run.name, position): loss
        for run in board.collection.runs
        for position, loss in enumerate(
            metrics.trained_successes(run.curve(), window=2)
            - metrics.final_successes(run.curve(), window=2)
        )
    }

    def largest(label, count):
        places = sorted((place for place in lost if place[0] == label), key=lambda at: -lost[at])
        return {place[1:]: round(lost[place], 6) for place in places[:count]}

    assert largest(NEITHER, 2) == {
        ("recall-cw6-1-seed0", 0): 0.4,
        ("recall-cw6-2-seed1", 3): 0.3,
    }
    assert largest(RECALL, 1) == {("recall-cw6-1-seed2", 0): 0.3}
    assert largest(PD, 2) == {("recall-cw6-1-seed1", 0): 0.3, ("recall-cw6-1-seed2", 3): 0.3}
    assert largest(TN, 2) == {("recall-cw6-2-seed2", 0): 0.9, ("recall-cw6-1-seed0", 0): 0.4}
    for told in (
        "second largest loss with TN is 0.4 (the first push of cw6-1, seed 0)",
        "are 0.4 (the same push, seed 0) and 0.3 (the second hammer of cw6-2, seed 1)",
        "with PD 0.3 (the same push, seed 1, and the second one, seed 2)",
        "with both 0.3 (the same push, seed 2)",
    ):
        assert told in text


def test_a_task_is_lost_while_its_critics_do_not_notice(board, text):
    run = run_of(board, TN, "recall-cw6-2-seed2")
    hammer = dict(zip(run.steps.tolist(), run.curve().success[:, 0].tolist(), strict=True))
    assert hammer[680_000] == 1.0
    assert {success for step, success in hammer.items() if step >= 720_000} == {0.0}
    assert "falls from 1.0 at step 680,000 to 0.0 at 720,000" in text

    def values(run, first):
        records = run.training
        found = records["q_value"][records["step"] >= first, 0]
        return found[np.isfinite(found)]

    def value(run, step):
        return round(float(values(run, step)[0]), -2)

    later = values(run, 679_951)
    low, high = (round(float(each), -2) for each in (later.min(), later.max()))
    before = value(run, 679_950)
    assert f"is {before:,.0f} shortly before (step 679,950), and between {low:,.0f} and" in text
    assert f"and {high:,.0f} from then on" in text
    kept = run_of(board, RECALL, "recall-cw6-2-seed2")
    start, end = value(kept, 200_000), value(kept, 1_200_000)
    assert f"({start:,.0f} when its stage ends, {end:,.0f} at the end)" in text
    assert metrics.final_successes(kept.curve(), window=2)[0] == 1.0


def test_no_other_task_is_lost(board, text):
    assert "one lost task among 72 without distillation and none among 72 with it" in text
    lost = [
        (run.label, run.name)
        for run in board.collection.runs
        for before, after in zip(
            metrics.trained_successes(run.curve(), window=2),
            metrics.final_successes(run.curve(), window=2),
            strict=True,
        )
        if before > 0 and after == 0
    ]
    assert lost == [(TN, "recall-cw6-2-seed2")]


def test_repeated_tasks_start_from_their_own_heads(board):
    for run in board.collection.runs:
        chosen = {choice["position"]: choice["best_head"] for choice in run.head_choices}
        assert [chosen[position] for position in (3, 4, 5)] == [0, 1, 2]


def test_perfect_memory_does_less_on_the_same_tasks(boards, text):
    replayed = [boards["cw3"].get("PM", f"cw3-{n}").performance for n in (1, 2)]
    told = "ends at {} and {} on cw3-1 and cw3-2".format(*rounded(each.value for each in replayed))
    assert told in text
