"""The summary in words at the top of a report."""

import pytest

from recall.analysis.collection import Collection, gather
from recall.analysis.scores import ScoreBoard
from recall.report.summary import few_seeds, scope, verdicts
from tests.factories.folders import write_fleet
from tests.factories.runs import made_collection, made_run


@pytest.fixture(scope="module")
def board() -> ScoreBoard:
    return ScoreBoard(made_collection(["fine_tuning", "recall"], ["cw3-1", "cw3-2"], seeds=2))


def test_the_summary_names_the_best_of_every_family(board):
    assert scope(board) == "2 methods and variants on 2 sequences: 8 runs, all complete."
    (verdict,) = verdicts(board)
    assert verdict.title == "CW3, 2 sequences"
    performance, forgetting, transfer = verdict.sentences
    means = {
        label: sum(board.get(label, name).final.mean() for name in ("cw3-1", "cw3-2")) / 2
        for label in ("Fine-tuning", "RECALL")
    }
    assert means["RECALL"] > means["Fine-tuning"]
    assert performance.startswith(
        f"RECALL performs best: average performance {means['RECALL']:.2f} ["
    )
    assert f"next is Fine-tuning with {means['Fine-tuning']:.2f} [" in performance
    assert forgetting.startswith("RECALL forgets least")
    assert "forward transfer" in transfer


def test_a_method_that_did_not_run_everything_is_not_compared(board):
    kept = [r for r in board.collection.runs if (r.method, r.sequence) != ("recall", "cw3-2")]
    (verdict,) = verdicts(ScoreBoard(Collection(tuple(kept))))
    assert all("RECALL" not in sentence for sentence in verdict.sentences)
    assert verdict.sentences[0].startswith("Average performance of Fine-tuning: ")


def test_variants_count_where_the_plain_method_was_not_run(board):
    variants = [
        made_run("recall", "push,hammer", seed, variant=variant)
        for variant in ("no distillation", "memory per task 100")
        for seed in range(2)
    ]
    found = verdicts(ScoreBoard(Collection((*board.collection.runs, *variants))))
    (verdict,) = (each for each in found if each.title == "push, hammer")
    assert "RECALL, no distillation" in verdict.sentences[0]
    assert "RECALL, memory per task 100" in verdict.sentences[0]


def test_seeds_decide_whether_two_methods_can_be_told_apart(tmp_path):
    """The lead is 0.6, 0.1 and 0.2, though no run of the one is as good as one of the other."""
    for method, values in (("recall", (0.9, 0.7, 0.8)), ("ewc", (0.3, 0.6, 0.6))):
        write_fleet(
            tmp_path / method, method, "push,hammer", seeds=(0, 1, 2),
            success=lambda seed, task, step, values=values: values[seed],
        )  # fmt: skip
    (verdict,) = verdicts(ScoreBoard(gather(tmp_path)))
    assert verdict.sentences[0].startswith("RECALL performs best: average performance 0.80 [")
    assert verdict.sentences[0].endswith(
        "] (a difference of 0.30 [-0.15, 0.75]) cannot be told from it."
    )


def test_single_tasks_and_returns_count_among_the_runs_of_a_method():
    alone = [made_run("recall", "push", seed) for seed in range(3)]
    assert "There are only 3 runs" in few_seeds(ScoreBoard(Collection(tuple(alone))))
    enough = [made_run("recall", "push", seed) for seed in range(5)]
    assert few_seeds(ScoreBoard(Collection(tuple(enough)))) == ""


def test_methods_on_different_sequences_are_told_to_be_apart(board):
    pairs = {("recall", "cw3-1"), ("fine_tuning", "cw3-2")}
    kept = [run for run in board.collection.runs if (run.method, run.sequence) in pairs]
    (verdict,) = verdicts(ScoreBoard(Collection(tuple(kept))))
    assert verdict.sentences == (
        "No method was run on all 2 sequences, so none can be compared here.",
    )


def test_nothing_is_said_of_transfer_that_nobody_has(tmp_path):
    """Plain SAC succeeds in every evaluation, so there is nothing to gain."""
    for method in ("recall", "ewc"):
        write_fleet(tmp_path / method, method, "push,hammer", success=lambda *_: 0.5)
    for task in ("push", "hammer"):
        write_fleet(tmp_path / task, "fine_tuning", task, success=lambda *_: 1.0)
    told = " ".join(
        text for each in verdicts(ScoreBoard(gather(tmp_path))) for text in each.sentences
    )
    assert "average performance" in told
    assert "transfer" not in told
