"""CW3 at 300,000 steps: docs/results.md and the README say what the records say."""

import numpy as np
import pytest

from recall.results import metrics, shipped_references
from recall.results.collection import gather
from recall.results.differences import paired_difference
from recall.results.scores import ScoreBoard
from tests.results.recorded.pages import (
    METRICS,
    ROOT,
    SEQUENCES,
    interval,
    intervals,
    mean_over_sequences,
    of_method,
    rounded,
    section,
    shown,
    value,
)

METHODS = {
    "Fine-tuning": "fine-tuning",
    "EWC": "EWC",
    "PackNet": "PackNet",
    "ClonEx": "ClonEx",
    "RECALL": "RECALL",
}
"""Labels of the methods in `results/cw3`, and what the pages call them."""


@pytest.mark.parametrize("label", METHODS)
def test_the_pages_show_the_means_at_300_000_steps_and_their_intervals(boards, page, label):
    means = [mean_over_sequences(boards["cw3"], label, metric) for metric in METRICS]
    values, brackets = rounded([each.value for each in means]), [interval(each) for each in means]
    text, first = section(page, "CW3 at 300,000"), rf"{METHODS[label]} \|"
    assert shown(text, first, slice(1, 4)) == values
    assert intervals(text, first, slice(1, 4)) == brackets
    readme, first = (ROOT / "README.md").read_text(), rf"{METHODS[label]} \| 300,000"
    assert shown(readme, first, slice(3, 6)) == values
    assert intervals(readme, first, slice(3, 6)) == brackets


def test_the_page_shows_how_far_recall_is_ahead(boards, page):
    text = section(page, "CW3 at 300,000")

    def ahead(metric: str, other: str, name: str = "cw3", method: str = "RECALL") -> str:
        pairs = [
            (boards["cw3"].get(method, sequence), boards[name].get(other, sequence))
            for sequence in (f"cw3-{number}" for number in SEQUENCES)
        ]
        difference = paired_difference(pairs, metric)
        return f"{difference.value:.2f} [{interval(difference)}]"

    by_performance = {other: ahead("average_performance", other) for other in METHODS}
    assert (
        f"**RECALL is first**, {by_performance['ClonEx']} ahead of ClonEx, seed by seed (0.08 in "
        f"the paper), {by_performance['EWC']} ahead of EWC (0.29), {by_performance['PackNet']} "
        f"ahead of PackNet (0.22) and {by_performance['Fine-tuning']} ahead of fine-tuning (0.61)"
    ) in text
    ewc = ahead("average_performance", "PackNet", method="EWC")
    assert f"EWC is {ewc} ahead of PackNet" in text
    by_transfer = {other: ahead("forward_transfer", other) for other in METHODS}
    assert (
        f"RECALL is {by_transfer['ClonEx']} ahead of ClonEx, {by_transfer['Fine-tuning']} ahead of "
        f"fine-tuning, {by_transfer['EWC']} ahead of EWC and {by_transfer['PackNet']} ahead of "
        "PackNet."
    ) in text
    pink = ahead("average_performance", "RECALL", "cw3-white")
    assert f"pink noise is {pink} ahead, seed by seed" in text


def test_the_page_says_which_tasks_make_the_lead(boards, page):
    def final(method: str, without: tuple[str, ...]) -> float:
        return np.mean(
            [
                success
                for run in of_method(boards["cw3"], method)
                for task, success in zip(
                    run.tasks, metrics.final_successes(run.curve(), window=2), strict=True
                )
                if task not in without
            ]
        )

    shelf, hammer = ("shelf-place",), ("shelf-place", "hammer")
    found = [final("recall", shelf), final("clonex", shelf), final("recall", hammer)]
    assert (
        "Without shelf-place, RECALL ends at {} and ClonEx at {}; without hammer as well, both end "
        "at {}."
    ).format(*rounded(found)) in section(page, "CW3 at 300,000")
    assert rounded([final("clonex", hammer)]) == rounded(found[2:])


def test_the_page_shows_every_sequence_at_300_000_steps(boards, page):
    board, text = boards["cw3"], section(page, "CW3 at 300,000")
    for number in SEQUENCES:
        found = [board.get(label, f"cw3-{number}").performance for label in METHODS]
        cells, row = slice(1, 1 + len(METHODS)), f"cw3-{number}:"
        assert shown(text, row, cells) == rounded([each.value for each in found])
        assert intervals(text, row, cells) == [interval(each) for each in found]
        others = [value(board, "RECALL", number, metric) for metric in METRICS[1:]]
        assert shown(text, f"{number}:", slice(1, 3)) == rounded(others)


def test_the_page_counts_the_tasks_that_were_never_found(boards, page):
    text = section(page, "CW3 at 300,000")
    words = {"cw3": "of 72 tasks six end at 0.0", "cw3-white": "with nine of 72 tasks at 0.0"}
    for name, count in (("cw3", 6), ("cw3-white", 9)):
        runs = of_method(boards[name], "recall")
        final = np.array([metrics.final_successes(run.curve(), window=2) for run in runs])
        assert (final.size, np.count_nonzero(final == 0.0)) == (72, count)
        assert words[name] in text
        zeros, others = final[final == 0.0], final[final > 0.0]
        if name == "cw3":
            assert len(zeros) / np.sum(1.0 - final) == pytest.approx(0.53, abs=0.005)
            assert f"the mean of the others is {others.mean():.2f}" in text


def test_the_page_names_the_largest_loss_and_the_largest_gain(boards, page):
    changes = {
        (run.name, task): round(float(after - before), 2)
        for run in of_method(boards["cw3"], "recall")
        for task, before, after in zip(
            run.tasks,
            metrics.trained_successes(run.curve(), window=2),
            metrics.final_successes(run.curve(), window=2),
            strict=True,
        )
    }
    loss, gain = (choose(changes, key=lambda each: changes[each]) for choose in (min, max))
    assert (loss, changes[loss]) == (("recall-cw3-6-seed1", "peg-unplug-side"), -0.2)
    assert (gain, changes[gain]) == (("recall-cw3-4-seed1", "shelf-place"), 0.7)
    assert "The largest loss of a single task is 0.2 (peg-unplug-side in sequence 6, seed 1" in page
    assert "The largest gain is that of shelf-place in sequence 4, seed 1" in page


def test_the_page_divides_forward_transfer_into_first_and_later_tasks(boards, page):
    first, later = {}, {}
    for label in METHODS:
        scores = [boards["cw3"].get(label, f"cw3-{number}") for number in SEQUENCES]
        of_tasks = [[each.value for each in one.forward_transfer_by_task] for one in scores]
        by_task = np.array(of_tasks)  # a row for each sequence, the last label's is RECALL's
        first[label], later[label] = rounded([by_task[:, 0].mean(), np.nanmean(by_task[:, 1:])])
    text = section(page, "CW3 at 300,000")
    assert f"come out at {first['Fine-tuning']} on average" in text
    assert (
        f"EWC's first tasks are plain SAC too, on another machine, and come out at {first['EWC']}."
        in text
    )
    assert f"RECALL has {first['RECALL']}: that part is its learner" in text
    assert (
        f"On later ones it is {later['RECALL']} with RECALL, {later['ClonEx']} with ClonEx, "
        f"{later['Fine-tuning']} with fine-tuning, {later['EWC']} with EWC and {later['PackNet']} "
        "with PackNet."
    ) in text
    assert "{} and {}".format(*rounded(by_task[6:, 2])) in text
    assert np.isnan(by_task[6, 1])  # plain SAC leaves nothing to gain


def test_the_page_says_how_far_tasks_were_just_learnt(boards, page):
    text, all_tasks, shelf = section(page, "CW3 at 300,000"), [], []
    for method in ("fine_tuning", "clonex", "recall"):
        runs = of_method(boards["cw3"], method)
        learnt = np.array([metrics.trained_successes(run.curve(), window=2) for run in runs])
        is_shelf = np.array([run.tasks for run in runs]) == "shelf-place"
        all_tasks.append(learnt.mean())
        shelf.append(learnt[is_shelf].mean())
    assert (
        "the tasks of fine-tuning are at {}, those of ClonEx at {} and those of RECALL at {}. In "
        "shelf-place they are at {}, {} and {}."
    ).format(*rounded(all_tasks + shelf)) in text
    final = [
        metrics.final_successes(run.curve(), window=2)
        for run in of_method(boards["cw3"], "fine_tuning")
    ]
    first, second, _ = rounded(np.mean(final, axis=0))
    assert f"its first and second tasks end at {first} and {second}" in text


def test_the_page_says_how_ewc_and_packnet_learn(boards, page):
    def successes(method: str, measure) -> tuple[np.ndarray, np.ndarray]:
        """Return the tasks and their successes, a row for each run."""
        runs = of_method(boards["cw3"], method)
        found = np.array([measure(run.curve(), window=2) for run in runs])
        return np.array([run.tasks for run in runs]), found

    learnt = {
        method: rounded(successes(method, metrics.trained_successes)[1].mean(axis=0))
        for method in ("packnet", "ewc", "fine_tuning")
    }
    text = section(page, "CW3 at 300,000")
    assert ("its first tasks end at {}, those of EWC at {} and those of fine-tuning at {}").format(
        *(first for first, *_ in learnt.values())
    ) in text
    assert (
        "its second and third tasks are at {} and {} just after they were learnt, those of "
        "fine-tuning at {} and {}."
    ).format(*learnt["ewc"][1:], *learnt["fine_tuning"][1:]) in text
    tasks, final = successes("packnet", metrics.final_successes)
    assert not final[tasks == "shelf-place"].any()
    (stick_pull,) = rounded([final[tasks == "stick-pull"].mean()])
    assert f"It never found shelf-place, and stick-pull ended at {stick_pull}." in text
    tasks, final = successes("ewc", metrics.final_successes)
    hammer = tasks[:, 0] == "hammer"
    _, learnt_by_ewc = successes("ewc", metrics.trained_successes)
    before, after = rounded([each[hammer, 0].mean() for each in (learnt_by_ewc, final)])
    assert f"hammer in sequence 2, from {before} to {after}." in text


def test_the_reference_with_white_noise_fits_the_runs_with_white_noise():
    white = ROOT / "results" / "cw3-white"
    board = ScoreBoard(gather(white, reference=[ROOT / "results" / "reference-white"]))
    found = [value(board, "RECALL", number, "forward_transfer") for number in SEQUENCES]
    assert rounded([np.mean(found)]) == ["0.47"]


def test_the_page_shows_the_tasks_alone(page):
    found: dict[str, list[tuple[float, float]]] = {}
    for run in shipped_references.shipped_references():
        (success,) = metrics.final_successes(run.curve(), window=2)
        found.setdefault(run.tasks[0], []).append((success, metrics.areas(run.curve())[0]))
    assert len(found) == 10
    for task, pairs in found.items():
        expected = rounded(np.mean(pairs, axis=0))
        assert shown(section(page, "CW3 at 300,000"), rf"{task} \|", slice(1, 3)) == expected


def test_the_page_shows_the_mean_with_white_noise(boards, page):
    mean = mean_over_sequences(boards["cw3-white"], "RECALL", METRICS[0])
    text = section(page, "CW3 at 300,000")
    assert f"ended at {rounded([mean.value])[0]} [{interval(mean)}]" in text
