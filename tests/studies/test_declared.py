"""What is declared, against what the paper says."""

import re
from collections import Counter

import pytest

from recall.methods import OURS
from recall.report.figures import FIGURES
from recall.settings.checked import replaced
from recall.studies import STUDIES
from recall.studies.selection import Choices, groups_of
from recall.worlds.sequences import parse_sequence

SIX = ["fine_tuning", "ewc", "packnet", "clonex", "perfect_memory", "recall"]


def variants_of(name):
    """By title, the variant's method with its settings."""
    return {group.variant.title: group.spec.method for group in groups_of(STUDIES[name], Choices())}


@pytest.mark.parametrize("study", STUDIES.values(), ids=lambda study: study.name)
def test_every_study_can_be_run_and_says_what_it_is_for(study):
    assert study.question.endswith("?")
    assert study.tables
    assert set(study.figures) <= set(FIGURES)
    groups = groups_of(study, Choices(scale=0.1))
    runs = Counter(run.name for group in groups for run in group.spec.runs)
    total = len(study.variants) * len(study.sequences) * study.seeds
    assert runs.total() == total
    titles = [variant.title for variant in study.variants]
    assert len(set(titles)) == len(titles)
    assert all(re.fullmatch(r"[\w.,+=-]+", title) for title in titles)


@pytest.mark.parametrize("name", ["cw3", "cw6", "cw10", "cw20"])
def test_the_six_methods_are_compared_as_they_are(name):
    """With the paper's steps and number of runs."""
    groups = groups_of(STUDIES[name], Choices())
    assert {group.spec.steps_per_task for group in groups} == {1_000_000}
    runs = {"cw3": 6 * 8 * 5, "cw6": 6 * 8 * 5, "cw10": 6 * 5, "cw20": 6 * 5}[name]
    assert sum(len(group.spec.runs) for group in groups) == runs
    found = variants_of(name)
    assert list(found) == SIX
    assert all(method == type(method)() for method in found.values())


def test_variants_are_those_of_the_paper():
    pairs = [parse_sequence(name).tasks for name in STUDIES["pairs"].sequences]
    tasks = STUDIES["reference"].sequences
    assert set(pairs) == {(first, second) for first in tasks for second in tasks}
    found = variants_of("ablation").values()
    assert len({(method.normalise_targets, method.distil) for method in found}) == 4
    assert all(method.best_return and method.clip_norm == 0.1 for method in found)
    assert variants_of("ablation")["tn+pd"] == variants_of("cw6")["recall"]
    found = variants_of("sharing").values()
    kinds = {"shallow", "separate"}
    assert {(method.actor_heads, method.critic_heads) for method in found} == {
        (actor, critic) for actor in kinds for critic in kinds
    }
    groups = {
        group.variant.title: group.spec for group in groups_of(STUDIES["protocols"], Choices())
    }
    for name in OURS:
        one, other = groups[f"{name}-v1"], groups[f"{name}-v2"]
        assert replaced(one, {"settings.world.reward": "v2"}) == other


def test_fidelity_changes_one_thing_at_a_time():
    groups = {group.variant.title: group for group in groups_of(STUDIES["fidelity"], Choices())}
    paper = groups.pop("paper").variant.changes
    several = ("authors", "as-in-the-code-of-pairs")
    for title, group in groups.items():
        changed = dict(group.variant.changes).items() ^ dict(paper).items()
        names = {name for name, _ in changed}
        assert (len(names) == 1) != (title in several), title


def test_memory_shrinks_with_the_scale():
    for scale in (1.0, 0.1):
        groups = groups_of(STUDIES["memory"], Choices(scale=scale))
        kept = [group.spec.method.memory_per_task for group in groups]
        steps = round(1_000_000 * scale)
        assert kept == [None, *(round(share * steps) for share in (0.3, 0.1, 0.03, 0.01))]
