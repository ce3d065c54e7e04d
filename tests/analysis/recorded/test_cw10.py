"""CW10 at 200,000 steps: docs/results.md and the README say what the records say."""

import json
import re

import numpy as np
import pytest

import recall
from recall.analysis import metrics
from recall.analysis.differences import paired_difference
from recall.report import paper
from recall.report.tables.exploration import exploration_table
from tests.analysis.recorded.pages import (
    METRICS,
    ROOT,
    intervals,
    marked,
    of_method,
    rounded,
    row_of,
    section,
    shown,
    successes,
    with_interval,
)

METHODS = {
    "fine_tuning": "Fine-tuning",
    "packnet": "PackNet",
    "clonex": "ClonEx",
    "recall": "RECALL",
}
RIVALS = ("clonex", "recall")
STAGE = 200_000


@pytest.fixture(scope="module")
def text(page) -> str:
    return section(page, "CW10 at 200,000")


@pytest.fixture(scope="module")
def learnt(boards) -> dict[str, np.ndarray]:
    return {name: successes(boards["cw10"], name, metrics.trained_successes)[1] for name in METHODS}


@pytest.fixture(scope="module")
def final(boards) -> dict[str, np.ndarray]:
    return {name: successes(boards["cw10"], name, metrics.final_successes)[1] for name in METHODS}


@pytest.fixture(scope="module")
def later(boards) -> dict[str, list[list[np.ndarray]]]:
    """Successes in the evaluations after a task's own stage, [run][task but the last]."""

    def of_run(run):
        curve = run.curve()
        return [curve.success[curve.steps > (task + 1) * STAGE, task] for task in range(9)]

    return {name: [of_run(run) for run in of_method(boards["cw10"], name)] for name in METHODS}


@pytest.mark.parametrize(("method", "label"), METHODS.items())
def test_the_page_shows_all_metrics_beside_the_papers(boards, text, method, label):
    estimates = [boards["cw10"].get(label, "cw10").metric(name).estimate for name in METRICS]
    ours = rounded([each.value for each in estimates])
    theirs = rounded(paper.on_sequence("cw10", name, method).value for name in METRICS)
    row = f"{row_of(label)} \\| \\**{ours[0]}"
    assert shown(text, row, slice(1, 7)) == [*ours, *theirs]
    bounds = [", ".join(rounded(each.interval)) for each in estimates]
    assert intervals(text, row, slice(1, 4)) == bounds
    first, keeps = label == "RECALL", label != "Fine-tuning"
    assert marked(text, row, slice(1, 4)) == [first, keeps, first]
    readme = (ROOT / "README.md").read_text()
    told = re.escape(with_interval(estimates[0]))
    assert re.search(rf"{row_of(label)} (ends )?at {told}", readme)
    assert "the paper has 0.89, 0.85, 0.87 and 0.10 after" in readme
    if label != "RECALL":
        both = [(boards["cw10"].get("RECALL", "cw10"), boards["cw10"].get(label, "cw10"))]
        lead = with_interval(paired_difference(both, "forward_transfer"))
        assert f"{lead} ahead of {row_of(label)}'s" in text


def test_the_page_shows_every_task(boards, text, learnt, final):
    scores = {label: boards["cw10"].get(label, "cw10") for label in METHODS.values()}
    tasks = scores["RECALL"].tasks
    for position, task in enumerate(tasks):
        arrows = [
            " → ".join(rounded([each[name][:, position].mean() for each in (learnt, final)]))
            for name in METHODS
        ]
        transfers = [each.forward_transfer_by_task[position].value for each in scores.values()]
        told = [""] * 4 if task == "handle-press-side" else rounded(transfers)
        assert np.isnan(transfers).all() == (task == "handle-press-side")
        assert shown(text, f"{position + 1} {task} ", slice(1, 9)) == arrows + told
    means = [
        " → ".join(rounded([each[name].mean() for each in (learnt, final)])) for name in METHODS
    ]
    transfers = rounded([each.forward_transfer.value for each in scores.values()])
    assert shown(text, "all ", slice(1, 9)) == means + transfers


def test_the_page_says_by_how_much_recall_is_ahead(boards, text, final):
    leads = (final["recall"] - final["clonex"]).mean(axis=1)
    assert "in every seed**, by {}, {} and {}".format(*rounded(leads)) in text
    assert (leads > 0).all()
    both = [(boards["cw10"].get("RECALL", "cw10"), boards["cw10"].get("ClonEx", "cw10"))]
    lead = with_interval(paired_difference(both, "average_performance"))
    assert f"{lead} on average" in text
    assert f"by {lead} on CW10" in (ROOT / "README.md").read_text()
    for label, words in (
        ("Fine-tuning", "of fine-tuning by {}**"),
        ("PackNet", "of PackNet by {}**"),
    ):
        pair = [(boards["cw10"].get("RECALL", "cw10"), boards["cw10"].get(label, "cw10"))]
        value, interval = with_interval(paired_difference(pair, "average_performance")).split(
            " ", 1
        )
        assert f"{words.format(value)} {interval}" in text
    below = {
        method: f"""{
            paper.on_sequence("cw10", "average_performance", method).value
            - boards["cw10"].get(label, "cw10").metric("average_performance").value:.2f}"""
        for method, label in METHODS.items()
    }
    assert below == {"fine_tuning": "0.02", "packnet": "0.38", "clonex": "0.14", "recall": "0.03"}
    assert "0.03 below the paper's 0.89. Fine-tuning is 0.02 below its number there" in text
    assert "ClonEx 0.14 and PackNet 0.38." in text


def test_the_page_says_what_packnet_lacks(boards, text, learnt):
    before, behind = [], []
    for run in of_method(boards["cw10"], "packnet"):
        curve = run.curve()
        for task in range(9):
            end = (task + 1) * STAGE
            before.append(curve.success[curve.steps == end - 20_000, task].item())
            behind.append(curve.success[curve.steps == end, task].item())
    told = "success is {} at 180,000 steps, and {} at 200,000, after pruning"
    assert told.format(*rounded([np.mean(before), np.mean(behind)])) in text
    means = rounded([learnt["packnet"].mean(), learnt["fine_tuning"].mean()])
    assert "Its ten tasks are learnt to {} and those of fine-tuning to {}".format(*means) in text
    by_seed = (learnt["fine_tuning"] - learnt["packnet"]).mean(axis=1)
    half = 2.92 * by_seed.std(ddof=1) / np.sqrt(3)  # Student's t with 2 degrees of freedom, 90 %
    mean = by_seed.mean()
    assert f"({mean:.2f} [{mean - half:.2f}, {mean + half:.2f}])" in text
    scores = {name: boards["cw10"].get(label, "cw10") for name, label in METHODS.items()}
    lower = paired_difference([(scores["fine_tuning"], scores["packnet"])], "forward_transfer")
    assert f"its forward transfer is {with_interval(lower)} lower" in text
    behind = paired_difference([(scores["clonex"], scores["packnet"])], "average_performance")
    assert f"here it is {with_interval(behind)} behind" in text
    for name, told in (("packnet", "of 1 to 2"), ("fine_tuning", "93 to 103")):
        ranks = []
        for run in of_method(boards["cw10"], name):
            rows = (run.training["step"] == STAGE) & np.isfinite(run.training["rank_q"])
            ranks.append(run.training["rank_q"][rows].item())
        assert told.endswith(f"{min(ranks):.0f} to {max(ranks):.0f}")
        assert told in text


def test_fine_tuning_keeps_the_last_task_alone(final, text):
    ends = final["fine_tuning"]
    assert np.count_nonzero(ends[:, :9].any(axis=0)) == 2
    assert "only the last task is left" in text
    assert f"The {ends[:, 8].mean():.2f} of window-close and the {ends[:, 5].mean():.2f} of" in text
    assert np.count_nonzero(ends[:, 8]) == np.count_nonzero(ends[:, 5]) == 1


def test_of_nine_pairs_recall_is_ahead_in_eight_on_both_benchmarks(boards, text, final):
    assert "RECALL's is ahead in eight, as on CW3" in text
    on_cw3 = {}
    for name in RIVALS:
        seeds = np.array([run.seed for run in of_method(boards["cw3"], name)])
        values = successes(boards["cw3"], name, metrics.final_successes)[1]
        on_cw3[name] = np.array([values[seeds == seed].mean() for seed in range(3)])
    on_cw10 = {name: final[name].mean(axis=1) for name in RIVALS}
    for found in (on_cw10, on_cw3):
        ahead = found["recall"][:, None] > found["clonex"][None, :]
        assert np.count_nonzero(ahead) == 8


def test_the_page_names_the_tasks_that_the_lead_comes_from(boards, text, final):
    tasks = boards["cw10"].get("RECALL", "cw10").tasks
    stick, shelf = (tasks.index(name) for name in ("stick-pull", "shelf-place"))
    difference = final["recall"] - final["clonex"]
    share = difference[:, [stick, shelf]].sum() / difference.sum()
    assert share == pytest.approx(2 / 3, abs=0.02)

    def ends(method, task):
        return "at {:.1f}, {:.1f} and {:.1f}".format(*final[method][:, task])

    assert f"{ends('recall', stick)} with RECALL and {ends('clonex', stick)} with ClonEx" in text
    assert f"shelf-place, {ends('recall', shelf)} and {ends('clonex', shelf)}." in text


def test_recall_and_clonex_do_not_forget(text, later):
    halves = {}
    for name in RIVALS:
        pairs = [[np.array_split(task, 2) for task in run] for run in later[name]]
        halves[name] = np.array([[[half.mean() for half in task] for task in run] for run in pairs])
    first, second = rounded(halves["recall"].mean(axis=(0, 1)))
    assert f"RECALL's success is {first}, in the second {second}" in text
    largest = -np.diff(halves["recall"]).min()
    assert f"no task of any run falls by more than {largest:.2f}" in text
    means, fall = rounded(halves["clonex"].mean(axis=(0, 1))), -np.diff(halves["clonex"]).min()
    assert f"ClonEx's is {means[0]} and {means[1]}, and its largest fall {fall:.2f}" in text
    assert {len(run[0]) for run in later["recall"]} == {90}


def test_the_page_names_what_is_not_learnt(boards, text, final, later, learnt):
    assert np.count_nonzero(final["recall"] >= 0.8 - 1e-9) == 24
    assert "Of 30 tasks 24 end at 0.8 or more" in text
    tasks = boards["cw10"].get("RECALL", "cw10").tasks
    hammer, shelf, stick = (tasks.index(name) for name in ("hammer", "shelf-place", "stick-pull"))
    assert final["recall"][0, shelf] == 0.0
    assert learnt["recall"][2, hammer] == pytest.approx(0.2)
    assert f"({later['recall'][2][hammer].mean():.2f} in its 90 later evaluations)" in text
    found = rounded([run[stick].mean() for run in later["recall"]])
    assert "{}, {} and {} in its 50 later evaluations".format(*found) in text
    at_end, afterwards = [], []
    for run in of_method(boards["cw10"], "recall"):
        returns = run.curve(field="return").success[:, shelf]
        at_end.append(returns[run.steps == (shelf + 1) * STAGE][0])
        afterwards.append(returns[run.steps > (shelf + 1) * STAGE].mean())
    assert at_end[0] == pytest.approx(min(at_end[1:]) / 5, rel=0.1)
    told = "({:,.0f} against {:,.0f} and {:,.0f})".format(*np.round(afterwards, -3))
    assert told in text
    assert not later["recall"][0][shelf].any()


def test_the_page_says_which_heads_explored(boards, text):
    (table,) = exploration_table(boards["cw10"])
    explored = {row.heading: row.cells[-1].text for row in table.rows}
    assert explored["cw10: 7 push"] == "push-wall 3"
    assert explored["cw10: 10 peg-unplug-side"] == "faucet-close 3"
    assert "explore push with the head of push-wall and peg-unplug-side with that of fauc" in text
    assert sum(cell.endswith(" 3") for cell in explored.values()) == 2


def test_the_page_says_what_forward_transfer_is_on_later_tasks(boards, text):
    scores = boards["cw10"].get("RECALL", "cw10")
    transfers = np.array([each.value for each in scores.forward_transfer_by_task])
    counted = transfers[np.isfinite(transfers)]
    assert len(counted) == 9
    assert counted.min() > 0
    assert f"and {np.nanmean(transfers[1:]):.2f} over the tasks after the first" in text
    uncertain = [
        task
        for task, each in zip(scores.tasks, scores.forward_transfer_by_task, strict=True)
        if each.interval and each.interval[0] <= 0
    ]
    assert uncertain == ["hammer", "stick-pull", "window-close"]
    without = [
        np.nanmean(
            [
                each.value
                for task, each in zip(found.tasks, found.forward_transfer_by_task, strict=True)
                if task != "window-close"
            ]
        )
        for found in (scores, boards["cw10"].get("ClonEx", "cw10"))
    ]
    assert (
        "without window-close, which makes up much of ClonEx's deficit, it is {} against {}".format(
            *rounded(without)
        )
        in text
    )


def test_the_folder_names_the_commits(boards):
    table = (ROOT / "results" / "README.md").read_text()
    for one, two in (("recall", "clonex"), ("fine_tuning", "packnet")):
        runs = of_method(boards["cw10"], one) + of_method(boards["cw10"], two)
        (commit,) = {run.description["git"]["commit"][:7] for run in runs}
        assert re.search(rf"cw10/{one}`, `cw10/{two}.*commit {commit} \|", table)


def test_the_page_says_how_long_it_took(text):
    study = json.loads((ROOT / "results" / "cw10" / "study.json").read_text())
    seconds = {fleet["name"]: round(fleet["seconds"]) for fleet in study["fleets"]}
    assert seconds == {
        "recall": 25 * 60 + 32,
        "clonex": 21 * 60 + 30,
        "fine_tuning": 20 * 60 + 4,
        "packnet": 21 * 60 + 40,
    }
    assert "ClonEx took 21 minutes and 30 seconds and RECALL 25 minutes and 32 seconds" in text
    assert "in 20 minutes and 4 seconds and 21 minutes and 40 seconds" in text


def test_all_ten_policies_can_be_loaded():
    folder = ROOT / "results" / "cw10" / "recall"
    for task in range(10):
        policy = recall.load_policy(folder, task=task, run="recall-cw10-seed0")
        assert policy.act(np.zeros(12), deterministic=True).shape == (4,)


def test_the_pages_picture_is_there():
    assert (ROOT / "docs" / "cw10-200k.png").stat().st_size > 10_000
