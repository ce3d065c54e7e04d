"""CW10 at 200,000 steps: docs/results.md and the README say what the records say."""

import json
import re

import numpy as np
import pytest

import recall
from recall.report import paper
from recall.report.tables.exploration import exploration_table
from recall.results import metrics
from recall.results.differences import paired_difference
from tests.results.recorded.pages import (
    METRICS,
    ROOT,
    intervals,
    marked,
    of_method,
    rounded,
    section,
    shown,
    successes,
    with_interval,
)

METHODS = {"clonex": "ClonEx", "recall": "RECALL"}
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
    row = f"{label} \\| \\**{ours[0]}"
    assert shown(text, row, slice(1, 7)) == [*ours, *theirs]
    bounds = [", ".join(rounded(each.interval)) for each in estimates]
    assert intervals(text, row, slice(1, 4)) == bounds
    assert marked(text, row, slice(1, 4)) == [label == "RECALL", True, label == "RECALL"]
    readme = (ROOT / "README.md").read_text()
    assert re.search(rf"{label} (ends )?at {re.escape(with_interval(estimates[0]))}", readme)


def test_the_page_shows_every_task(boards, text, learnt, final):
    scores = {label: boards["cw10"].get(label, "cw10") for label in METHODS.values()}
    tasks = scores["RECALL"].tasks
    for position, task in enumerate(tasks):
        arrows = [
            " → ".join(rounded([each[name][:, position].mean() for each in (learnt, final)]))
            for name in METHODS
        ]
        transfers = [each.forward_transfer_by_task[position].value for each in scores.values()]
        told = ["", ""] if task == "handle-press-side" else rounded(transfers)
        assert np.isnan(transfers).all() == (task == "handle-press-side")
        assert shown(text, f"{position + 1} {task} ", slice(1, 5)) == arrows + told
    means = [
        " → ".join(rounded([each[name].mean() for each in (learnt, final)])) for name in METHODS
    ]
    transfers = rounded([each.forward_transfer.value for each in scores.values()])
    assert shown(text, "all ", slice(1, 5)) == means + transfers


def test_the_page_says_by_how_much_recall_is_ahead(boards, text, final):
    leads = (final["recall"] - final["clonex"]).mean(axis=1)
    assert "in every seed**, by {}, {} and {}".format(*rounded(leads)) in text
    assert (leads > 0).all()
    both = [(boards["cw10"].get("RECALL", "cw10"), boards["cw10"].get("ClonEx", "cw10"))]
    lead, transfer = (
        with_interval(paired_difference(both, name))
        for name in ("average_performance", "forward_transfer")
    )
    assert f"{lead} on average" in text
    assert f"by {lead} on CW10" in (ROOT / "README.md").read_text()
    assert f"it is {transfer} ahead of ClonEx's" in text
    for method, below in (("RECALL", "0.03"), ("ClonEx", "0.14")):
        ours = boards["cw10"].get(method, "cw10").metric("average_performance").value
        theirs = paper.on_sequence("cw10", "average_performance", method.lower()).value
        assert f"{theirs - ours:.2f}" == below
    assert "0.03 below the paper's 0.89. ClonEx is 0.14 below its 0.85" in text


def test_of_nine_pairs_recall_is_ahead_in_eight_on_both_benchmarks(boards, text, final):
    assert "RECALL's is ahead in eight, as on CW3" in text
    on_cw3 = {}
    for name in METHODS:
        seeds = np.array([run.seed for run in of_method(boards["cw3"], name)])
        values = successes(boards["cw3"], name, metrics.final_successes)[1]
        on_cw3[name] = np.array([values[seeds == seed].mean() for seed in range(3)])
    on_cw10 = {name: final[name].mean(axis=1) for name in METHODS}
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


def test_neither_forgets(text, later):
    halves = {}
    for name in METHODS:
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
    assert f"and {np.nanmean(transfers[1:]):.2f} on those behind the first" in text
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


def test_the_folder_names_the_commit(boards):
    commits = {run.description["git"]["commit"][:7] for run in boards["cw10"].collection.runs}
    (commit,) = commits
    row = rf"cw10/recall`, `cw10/clonex.*commit {commit} \|"
    assert re.search(row, (ROOT / "results" / "README.md").read_text())


def test_the_page_says_how_long_it_took(text):
    study = json.loads((ROOT / "results" / "cw10" / "study.json").read_text())
    seconds = {fleet["name"]: fleet["seconds"] for fleet in study["fleets"]}
    assert seconds == {"recall": 25 * 60 + 32, "clonex": 21 * 60 + 30}
    assert "ClonEx took 21 minutes and 30 seconds and RECALL 25 minutes and 32 seconds" in text


def test_all_ten_policies_can_be_loaded():
    folder = ROOT / "results" / "cw10" / "recall"
    for task in range(10):
        policy = recall.load_policy(folder, task=task, run="recall-cw10-seed0")
        assert policy.act(np.zeros(12), deterministic=True).shape == (4,)


def test_the_pages_picture_is_there():
    assert (ROOT / "docs" / "cw10-200k.png").stat().st_size > 10_000
