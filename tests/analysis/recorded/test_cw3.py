"""CW3 at 300,000 steps: docs/results.md and the README say what the records say."""

import numpy as np
import pytest

from recall.analysis import metrics, shipped_references
from recall.analysis.collection import gather
from recall.analysis.differences import paired_difference
from recall.analysis.scores import ScoreBoard
from recall.report.tables.families import family_tables
from recall.worlds.continual_world import TASKS
from tests.analysis.recorded.pages import (
    METHODS,
    METRICS,
    ROOT,
    SEQUENCES,
    interval,
    intervals,
    marked,
    mean_over_sequences,
    of_method,
    opening,
    rounded,
    row_of,
    section,
    shown,
    successes,
    value,
    with_interval,
)


@pytest.fixture(scope="module")
def text(page) -> str:
    return section(page, "CW3 at 300,000")


@pytest.mark.parametrize("label", METHODS.values())
def test_the_pages_show_the_means_and_their_intervals(boards, text, label):
    means = [mean_over_sequences(boards["cw3"], label, metric) for metric in METRICS]
    values, brackets = rounded([each.value for each in means]), [interval(each) for each in means]
    first = rf"{row_of(label)} \|"
    assert shown(opening(text), first, slice(1, 4)) == values
    assert intervals(opening(text), first, slice(1, 4)) == brackets
    readme, first = (ROOT / "README.md").read_text(), rf"{row_of(label)} \| 300,000"
    assert shown(readme, first, slice(3, 6)) == values
    assert intervals(readme, first, slice(3, 6)) == brackets


@pytest.mark.parametrize("number", SEQUENCES)
def test_the_page_shows_every_sequence(boards, text, number):
    board, cells = boards["cw3"], slice(1, 1 + len(METHODS))
    found = [board.get(label, f"cw3-{number}").performance for label in METHODS.values()]
    table, first = section(text, "Each sequence"), f"cw3-{number}:"
    assert shown(table, first, cells) == rounded([each.value for each in found])
    assert intervals(table, first, cells) == [interval(each) for each in found]
    others = [value(board, "RECALL", number, metric) for metric in METRICS[1:]]
    assert shown(text, f"{number}:", slice(1, 3)) == rounded(others)


@pytest.mark.parametrize("task", [*TASKS, "all"])
def test_the_page_shows_every_task(text, just_learnt, at_the_end, task):
    def mean(tasks: np.ndarray, found: np.ndarray) -> str:
        (number,) = rounded([found[(tasks == task) | (task == "all")].mean()])
        return number

    row = shown(section(text, "Each task"), rf"{task} \|", slice(1, 2 + len(METHODS)))
    tasks, _ = at_the_end["recall"]
    assert row[0] == str(np.count_nonzero((tasks == task) | (task == "all")))
    assert row[1:] == [
        f"{mean(*just_learnt[method])} → {mean(*at_the_end[method])}" for method in METHODS
    ]


def test_the_page_shows_how_far_recall_is_ahead(boards, text, at_the_end):
    def ahead(metric: str, other: str, name: str = "cw3", method: str = "RECALL") -> str:
        pairs = [
            (boards["cw3"].get(method, sequence), boards[name].get(other, sequence))
            for sequence in (f"cw3-{number}" for number in SEQUENCES)
        ]
        difference = paired_difference(pairs, metric)
        return with_interval(difference)

    by_performance = {label: ahead(METRICS[0], label) for label in METHODS.values()}
    assert (
        f"**RECALL is first**: {by_performance['ClonEx']} ahead of ClonEx, seed by seed (0.08 in "
        f"the paper), {by_performance['EWC']} ahead of EWC (0.29), {by_performance['PackNet']} "
        f"ahead of PackNet (0.22), {by_performance['PM']} ahead of perfect memory (0.43) and "
        f"{by_performance['Fine-tuning']} ahead of fine-tuning (0.61)"
    ) in text
    assert f"EWC is {ahead(METRICS[0], 'PackNet', method='EWC')} ahead of PackNet" in text
    by_transfer = {label: ahead(METRICS[2], label) for label in METHODS.values()}
    assert (
        f"it is {by_transfer['ClonEx']} ahead of ClonEx, {by_transfer['Fine-tuning']} ahead of "
        f"fine-tuning, {by_transfer['EWC']} ahead of EWC, {by_transfer['PackNet']} ahead of "
        f"PackNet and {by_transfer['PM']} ahead of perfect memory."
    ) in text
    later = ahead(METRICS[0], "RECALL", "cw3-white")
    assert f"The later defaults are {later} ahead, seed by seed" in text
    seeds = np.array([run.seed for run in of_method(boards["cw3"], "recall")])
    of_recall, of_clonex = (at_the_end[method][1] for method in ("recall", "clonex"))
    by_seed = [of_recall[seeds == seed].mean() for seed in range(3)]
    leads = [by_seed[seed] - of_clonex[seeds == seed].mean() for seed in range(3)]
    assert "By seed its lead over ClonEx is {}, {} and {}:".format(*rounded(leads)) in text
    assert "whose mean is {}, beside {} and {}.".format(*rounded(by_seed)) in text


def test_what_is_bold_in_the_pages_is_bold_in_the_report(boards, text):
    tables = {table.name: table for table in family_tables(boards["cw3"])}

    def is_bold(metric: str, row: str, label: str) -> bool:
        table = tables[f"cw3-{metric}"]
        (found,) = (each for each in table.rows if each.heading == row)
        return found.cells[table.columns.index(label)].bold

    readme = (ROOT / "README.md").read_text()
    for page, steps, first in ((opening(text), "", 1), (readme, " 300,000", 3)):
        for label in METHODS.values():
            bold = marked(page, rf"{row_of(label)} \|{steps}", slice(first, first + 3))
            assert bold == [is_bold(metric, "mean", label) for metric in METRICS]
    table = section(text, "Each sequence")
    for number in SEQUENCES:
        bold = marked(table, f"cw3-{number}:", slice(1, 1 + len(METHODS)))
        expected = [is_bold(METRICS[0], str(number), label) for label in METHODS.values()]
        assert bold == expected


def test_the_page_says_which_tasks_make_the_lead(text, at_the_end):
    def final(method: str, without: tuple[str, ...]) -> float:
        tasks, found = at_the_end[method]
        return found[~np.isin(tasks, without)].mean()

    shelf, hammer = ("shelf-place",), ("shelf-place", "hammer")
    found = [final("recall", shelf), final("clonex", shelf), final("recall", hammer)]
    assert (
        "Without shelf-place, RECALL ends at {} and ClonEx at {}; without hammer as well, both end "
        "at {}."
    ).format(*rounded(found)) in text
    assert rounded([final("clonex", hammer)]) == rounded(found[2:])


@pytest.mark.parametrize(
    ("name", "count", "words"),
    [
        ("cw3", 6, "of 72 tasks six end at 0.0"),
        ("cw3-white", 9, "with nine of 72 tasks at 0.0"),
    ],
)
def test_the_page_counts_the_tasks_that_were_never_found(boards, text, name, count, words):
    _, final = successes(boards[name], "recall", metrics.final_successes)
    assert (final.size, np.count_nonzero(final == 0.0)) == (72, count)
    assert words in text


def test_the_page_says_how_much_the_tasks_never_found_cost(boards, text, at_the_end):
    _, final = at_the_end["recall"]
    assert np.count_nonzero(final == 0.0) / np.sum(1.0 - final) == pytest.approx(0.53, abs=0.005)
    assert f"the mean of the others is {final[final > 0.0].mean():.2f}" in text
    seeds = np.array([run.seed for run in of_method(boards["cw3"], "recall")])
    assert np.count_nonzero(final[seeds == 0] == 0.0) == 5
    assert "Five of the six are in seed 0" in text


def test_the_page_names_the_largest_loss_and_the_largest_gain(
    boards, text, just_learnt, at_the_end
):
    names = [run.name for run in of_method(boards["cw3"], "recall")]
    tasks, after = at_the_end["recall"]
    changes = np.round(after - just_learnt["recall"][1], 2)
    found = [
        (names[row], tasks[row, column], changes[row, column])
        for row, column in (
            np.unravel_index(choose(changes), changes.shape) for choose in (np.argmin, np.argmax)
        )
    ]
    assert found == [
        ("recall-cw3-6-seed1", "peg-unplug-side", -0.2),
        ("recall-cw3-4-seed1", "shelf-place", 0.7),
    ]
    assert "The largest loss of a single task is 0.2 (peg-unplug-side in sequence 6, seed 1" in text
    assert "The largest gain is that of shelf-place in sequence 4, seed 1" in text


def test_the_page_says_what_fine_tuning_forgets(text, at_the_end):
    first, second, _ = rounded(at_the_end["fine_tuning"][1].mean(axis=0))
    assert f"its first and second tasks end at {first} and {second}" in text


def test_the_page_says_how_packnet_learns(boards, text, just_learnt, at_the_end):
    first = {method: just_learnt[method][1][:, 0].mean() for method in METHODS}
    assert min(first, key=first.get) == "packnet"
    assert f"PackNet learns least of first tasks, {first['packnet']:.2f}, probably" in text
    tasks, final = at_the_end["packnet"]
    assert not final[tasks == "shelf-place"].any()
    (stick_pull,) = rounded([final[tasks == "stick-pull"].mean()])
    assert f"PackNet never found shelf-place, and stick-pull ended at {stick_pull}" in text

    def at_first_end(method: str, column: str) -> str:
        found = []
        for run in of_method(boards["cw3"], method):
            values = np.asarray(run.training[column], float)
            there = np.isfinite(values) & (run.training["step"] <= 300_000)
            found.append(values[there][-1])
        return f"{np.median(found):.0f}"

    packnet, plain = (
        [at_first_end(method, column) for column in ("weight_norm_q", "rank_q")]
        for method in ("packnet", "fine_tuning")
    )
    assert (
        f"weights have a norm of {packnet[0]} and their last hidden layer an effective rank of "
        f"{packnet[1]} (medians of 24 runs), in fine-tuning {plain[0]} and {plain[1]}."
    ) in text


def test_the_page_says_what_ewc_forgets_and_learns(boards, text, just_learnt, at_the_end):
    tasks, final = at_the_end["ewc"]
    hammer = tasks[:, 0] == "hammer"
    runs = [run for run in of_method(boards["cw3"], "ewc") if run.tasks[0] == "hammer"]
    at_second_end = [run.curve().success[18:20, 0] for run in runs]
    assert {tuple(run.curve().steps[18:20]) for run in runs} == {(570_000, 600_000)}
    found = rounded([each[hammer, 0].mean() for each in (just_learnt["ewc"][1], final)])
    assert (
        "from {} to {} in the last two".format(found[0], *rounded([np.mean(at_second_end)])) in text
    )
    assert f"and back to {found[1]} at the end" in text
    ewc, plain = (rounded(just_learnt[method][1].mean(0)) for method in ("ewc", "fine_tuning"))
    assert f"What it learns in second tasks is {ewc[1]}, beside {plain[1]} with fine-tuning" in text
    assert f"the two on first tasks, {ewc[0]} and {plain[0]}, where both are plain SAC" in text


def test_the_page_says_what_perfect_memory_learns(boards, text, just_learnt, at_the_end):
    tasks, learnt = just_learnt["perfect_memory"]
    _, final = at_the_end["perfect_memory"]
    first, second, third = rounded(learnt.mean(axis=0))
    plain = rounded(just_learnt["fine_tuning"][1].mean(axis=0))
    assert (
        f"first tasks are learnt to {first}, second ones to {second} (fine-tuning {plain[0]} and "
        f"{plain[1]}) and third ones to {third}."
    ) in text
    forgetting = mean_over_sequences(boards["cw3"], "PM", "forgetting")
    assert f"its forgetting is {rounded([forgetting.value])[0]}" in text

    def second_tasks(task: str) -> np.ndarray:
        return np.stack([learnt[:, 1], final[:, 1]])[:, tasks[:, 1] == task]

    after, at_end = second_tasks("window-close")
    assert (len(after), np.count_nonzero(after == 0.0), np.count_nonzero(at_end == 0.0)) == (
        6,
        4,
        3,
    )
    assert "is not learnt in four of six runs as a second one (one of them learns it" in text
    assert not second_tasks("push-back").any()
    assert f"peg-unplug-side to {rounded([second_tasks('peg-unplug-side')[0].mean()])[0]}" in text
    stick_pull = {
        method: found[tasks == "stick-pull"].mean() for method, (tasks, found) in at_the_end.items()
    }
    assert max(stick_pull, key=stick_pull.__getitem__) == "perfect_memory"
    memory, recall = rounded([stick_pull["perfect_memory"], stick_pull["recall"]])
    assert f"it occurs it ends at {memory}, more than" in text
    assert f"RECALL's {recall} is within the noise" in text
    assert not final[tasks == "shelf-place"].any()


def test_the_page_shows_what_plain_sac_does_on_first_tasks(text, just_learnt):
    alone: dict[str, list[float]] = {}
    for run in shipped_references.shipped_references():
        alone.setdefault(run.tasks[0], []).extend(metrics.final_successes(run.curve(), window=2))
    tasks, found = just_learnt["fine_tuning"]
    means = [found[:, 0].mean(), just_learnt["ewc"][1][:, 0].mean()]
    means.append(np.mean([np.mean(alone[task]) for task in tasks[:, 0]]))
    assert "they end at {}, {} and {}.".format(*rounded(means)) in text


def test_the_reference_with_white_noise_fits_the_runs_with_white_noise():
    white = ROOT / "results" / "cw3-white"
    board = ScoreBoard(gather(white, reference=[ROOT / "results" / "reference-white"]))
    found = [value(board, "RECALL", number, "forward_transfer") for number in SEQUENCES]
    assert rounded([np.mean(found)]) == ["0.47"]


def test_the_page_shows_the_tasks_alone(text):
    found: dict[str, list[tuple[float, float]]] = {}
    for run in shipped_references.shipped_references():
        (success,) = metrics.final_successes(run.curve(), window=2)
        found.setdefault(run.tasks[0], []).append((success, metrics.areas(run.curve())[0]))
    assert len(found) == 10
    for task, pairs in found.items():
        expected = rounded(np.mean(pairs, axis=0))
        assert shown(section(text, "Tasks alone"), rf"{task} \|", slice(1, 3)) == expected


def test_the_page_shows_the_mean_with_white_noise(boards, text):
    mean = mean_over_sequences(boards["cw3-white"], "RECALL", METRICS[0])
    assert f"ended at {rounded([mean.value])[0]} [{interval(mean)}]" in text
