"""The ablation at 200,000 steps: docs/results.md says what the records say."""

import json
import re

import pytest

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
