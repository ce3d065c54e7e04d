"""The ablation at 200,000 steps: docs/results.md says what the records say."""

import json
import re

import pytest

from recall.report import paper
from recall.report.tables.exploration import exploration_table
from recall.results import metrics
from tests.results.recorded.pages import METRICS, ROOT, intervals, rounded, section, shown

LABEL = "RECALL, no normalisation, no distillation"


@pytest.fixture(scope="module")
def text(page) -> str:
    return section(page, "Ablation at 200,000")


@pytest.mark.parametrize("sequence", ["cw6-1", "cw6-2"])
def test_the_page_shows_all_metrics(boards, text, sequence):
    scores = boards["ablation"].get(LABEL, sequence)
    estimates = [scores.metric(name).estimate for name in METRICS]
    assert shown(text, sequence, slice(2, 5)) == rounded(each.value for each in estimates)
    bounds = [", ".join(rounded(each.interval)) for each in estimates]
    assert intervals(text, sequence, slice(2, 5)) == bounds
    tasks = f"{sequence}: {', '.join(scores.tasks[:3])}, twice"
    assert scores.tasks[:3] == scores.tasks[3:]
    assert tasks in text


def test_the_page_says_how_long_it_took_and_the_folder_which_commit(boards, text):
    study = json.loads((ROOT / "results" / "ablation" / "study.json").read_text())
    assert {fleet["name"]: fleet["seconds"] for fleet in study["fleets"]} == {"none": 16 * 60 + 5}
    assert "It took 16 minutes and 5 seconds" in text
    (commit,) = {run.description["git"]["commit"][:7] for run in boards["ablation"].collection.runs}
    table = (ROOT / "results" / "README.md").read_text()
    assert re.search(rf"ablation/none.*commit {commit} \|", table)


def test_neither_part_is_on(boards):
    for run in boards["ablation"].collection.runs:
        assert run.settings["method.normalise_targets"] is False
        assert run.settings["method.distil"] is False


def test_the_page_names_the_largest_losses(boards, text):
    lost = {
        (run.name, position): loss
        for run in boards["ablation"].collection.runs
        for position, loss in enumerate(
            metrics.trained_successes(run.curve(), window=2)
            - metrics.final_successes(run.curve(), window=2)
        )
    }
    first, second = sorted(lost, key=lambda place: -lost[place])[:2]
    assert (first, second) == (("recall-cw6-1-seed0", 0), ("recall-cw6-2-seed1", 3))
    assert [lost[first], lost[second]] == pytest.approx([0.4, 0.3])
    assert (
        "0.4 (push as the first task of cw6-1, seed 0) and 0.3 (hammer as the fourth task" in text
    )


def test_repeated_tasks_start_from_their_own_heads(boards):
    (table,) = exploration_table(boards["ablation"])
    for row in table.rows:
        place, task = row.heading.split(": ")[1].split(" ")
        if int(place) > 3:
            assert row.cells[-1].text == f"{task} 3"


def test_both_parts_can_add_what_is_missing_to_one(boards, text):
    rooms = [
        1.0 - boards["ablation"].get(LABEL, name).metric("average_performance").value
        for name in ("cw6-1", "cw6-2")
    ]
    assert "can add at most {} and {}**".format(*rounded(rooms)) in text
    theirs = [
        paper.on_sequence(name, "average_performance", "recall").value
        for name in ("cw6-1", "cw6-2")
    ]
    assert "The paper's RECALL ends at {} and {} there".format(*rounded(theirs)) in text
    replayed = [boards["cw3"].get("PM", f"cw3-{n}").metric("average_performance") for n in (1, 2)]
    told = "ends at {} and {} on cw3-1 and cw3-2".format(*rounded(each.value for each in replayed))
    assert told in text
