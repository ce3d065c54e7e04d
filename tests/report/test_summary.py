"""The summary in words at the top of a report."""

import pytest

from recall.analysis.collection import Collection, gather
from recall.analysis.frames import analyse
from recall.report.build import health_problems
from recall.report.summary import few_seeds, scope, verdicts
from tests.factories.folders import append_training, write_fleet
from tests.factories.runs import made_collection, made_run


@pytest.fixture(scope="module")
def made() -> Collection:
    return made_collection(["fine_tuning", "recall"], ["cw3-1", "cw3-2"], seeds=2)


def write(folder, method, values, **changes):
    """Write runs with one success for each seed at all times."""
    write_fleet(folder / method, method, "push,hammer", seeds=tuple(values),
                success=lambda seed, task, step: values[seed], **changes)  # fmt: skip


def sentences_of(found):
    (verdict,) = verdicts(analyse(found))
    return verdict.sentences


def test_the_summary_names_the_best_of_every_family(made):
    assert "on 2 sequences: 8 runs, 8 complete" in scope(made)
    analysis = analyse(made)
    (verdict,) = verdicts(analysis)
    assert verdict.title == "CW3, 2 sequences"
    assert len(verdict.sentences) == 3
    means = analysis.scores.groupby("label").final.mean()
    assert means["RECALL"] > means["Fine-tuning"]
    for mean in means:
        assert any(f"{mean + off:.2f} [" in verdict.sentences[0] for off in (-0.001, 0.001))
    assert verdict.sentences[0].startswith("RECALL ")


def test_what_leads_by_chance_is_not_called_best(tmp_path):
    """The lead is 0.6, 0.1 and 0.2, though no run of the one is as good as one of the other."""
    write(tmp_path, "recall", {0: 0.9, 1: 0.7, 2: 0.8})
    write(tmp_path, "ewc", {0: 0.3, 1: 0.6, 2: 0.6})
    sentence = sentences_of(gather(tmp_path))[0]
    assert "a difference of 0.30 [-0.15, 0.75]" in sentence
    assert "cannot be told from it" in sentence


def test_a_lead_in_every_seed_is_told_and_what_does_not_compare_is_shown(tmp_path):
    write(tmp_path, "recall", {0: 0.9, 1: 0.8})
    write(tmp_path, "ewc", {0: 0.1, 1: 0.2}, steps_per_task=2_000)
    sentence = sentences_of(gather(tmp_path))[0]
    for words in (" 0.85 [", " 0.15 [", "cannot be ranked"):
        assert words in sentence
    write(tmp_path, "packnet", {0: 0.3, 1: 0.2})
    write(tmp_path, "fine_tuning", {0: 0.2, 1: 0.1})
    sentence = sentences_of(gather(tmp_path))[0]
    assert sentence.startswith("RECALL has the highest average performance, 0.85 [")
    assert "next is PackNet with 0.25" in sentence
    assert "Not ranked: EWC" in sentence


def test_a_method_that_did_not_run_everything_is_not_compared(made):
    kept = [r for r in made.runs if (r.method, r.sequence) != ("recall", "cw3-2")]
    sentences = sentences_of(Collection(tuple(kept)))
    assert all("RECALL" not in sentence for sentence in sentences)
    assert sentences[0].startswith("Average performance: Fine-tuning ")
    apart = [r for r in kept if (r.method, r.sequence) != ("fine_tuning", "cw3-1")]
    (sentence,) = sentences_of(Collection(tuple(apart)))
    assert "all 2 sequences" in sentence


def test_variants_count_where_the_plain_method_was_not_run(made):
    variants = [
        made_run("recall", "push,hammer", seed, variant=variant)
        for variant in ("no distillation", "memory per task 100")
        for seed in range(2)
    ]
    found = verdicts(analyse(Collection((*made.runs, *variants))))
    (verdict,) = (each for each in found if each.title == "push, hammer")
    assert "RECALL, no distillation" in verdict.sentences[0]
    assert "RECALL, memory per task 100" in verdict.sentences[0]


@pytest.mark.parametrize(("seeds", "told"), [(1, "1 run of"), (3, "3 runs of"), (5, "")])
def test_few_seeds_are_warned_of(seeds, told):
    runs = tuple(made_run("recall", "push", seed) for seed in range(seeds))
    assert told in few_seeds(Collection(runs))
    assert bool(few_seeds(Collection(runs))) == bool(told)
    assert verdicts(analyse(Collection(runs))) == []


def test_health_warnings_are_a_line_for_each_method_and_kind(tmp_path):
    def warning(run, step, kind="collapsed_temperature", message="what it means"):
        return {"run": run, "step": step, "position": 0, "health": kind, "message": message}

    many = write_fleet(tmp_path / "a", "recall", "push,hammer", seeds=range(5))
    append_training(many, *(warning(run, 900) for run in range(3)))
    append_training(many, warning(1, 500, message="the <first>"))
    append_training(many, warning(4, 700, "dormant_policy_units"))
    first, second = health_problems(gather(tmp_path))
    assert "collapsed temperature in 3 of 5 runs" in first
    assert f"recall-push,hammer-seed1 in {many} at step 500: the <first>." in first
    assert "dormant policy units in 1 of 5 runs" in second
    young = write_fleet(tmp_path / "b", "ewc", finished=False, until=250)
    (young / "evaluations.jsonl").write_text("")
    append_training(young, warning(1, 100, message="the temperature has collapsed"))
    told = f"{young} at step 100: the temperature has collapsed."
    assert any(told in problem for problem in gather(tmp_path).problems)
