"""The records in `results/` and those shipped with the package: the page says what they say."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import recall
from recall.results import metrics, shipped_references
from recall.results.bootstrap import Sampled, mean_of
from recall.results.collection import gather
from recall.results.differences import paired_difference
from recall.results.run_result import RunResult
from recall.results.scores import ScoreBoard

ROOT = Path(__file__).parents[2]
MEGABYTE = 1_000_000
SEQUENCES = range(1, 9)
METRICS = ("average_performance", "forgetting", "forward_transfer")
METHODS = {"Fine-tuning": "fine-tuning", "ClonEx": "ClonEx", "RECALL": "RECALL"}
"""Labels of the methods in `results/cw3`, and what the pages call them."""


@pytest.fixture(scope="module")
def boards() -> dict[str, ScoreBoard]:
    return {
        name: ScoreBoard(gather(ROOT / "results" / name))
        for name in ("cw3", "cw3-white", "learning-250k")
    }


@pytest.fixture(scope="module")
def page() -> str:
    return (ROOT / "docs" / "results.md").read_text()


def section(page: str, title: str) -> str:
    """Return the section of the page under the heading that starts with `title`."""
    (found,) = re.findall(rf"^## {title}.*?(?=^## |\Z)", page, re.M | re.S)
    return found


def shown(section: str, first: str, cells: slice) -> list[str]:
    """Return cells of the table row whose first cell starts with `first`, without their marks."""
    (row,) = re.findall(rf"^\| {first}.*", section, re.M)
    return [cell.split("[")[0].strip(" *") for cell in row.split("|")[1:-1]][cells]


def of_method(board: ScoreBoard, method: str) -> list[RunResult]:
    return [run for run in board.collection.runs if run.method == method]


def value(board: ScoreBoard, label: str, number: int, metric: str) -> float:
    return board.get(label, f"cw3-{number}").metric(metric).value


def mean_over_sequences(board: ScoreBoard, label: str, metric: str) -> Sampled:
    return mean_of([board.get(label, f"cw3-{number}").metric(metric) for number in SEQUENCES])


def interval(sampled: Sampled) -> str:
    return ", ".join(rounded(sampled.estimate.interval))


def rounded(values: Sequence[float]) -> list[str]:
    return [f"{each:.2f}".replace("-0.00", "0.00") for each in values]


def intervals(text: str, first: str, cells: slice) -> list[str]:
    """Return what stands in brackets in cells of the row whose first cell starts with `first`."""
    (row,) = re.findall(rf"^\| {first}.*", text, re.M)
    return [cell.split("[")[1].split("]")[0] for cell in row.split("|")[1:-1][cells]]


@pytest.mark.parametrize(("name", "runs"), [("cw3", 72), ("cw3-white", 24), ("learning-250k", 62)])
def test_every_run_is_complete_and_readable(boards, name, runs):
    collection = boards[name].collection
    assert len(collection.runs) == runs
    assert all(run.complete for run in collection.runs)
    assert not collection.problems


@pytest.mark.parametrize(("name", "runs"), [("cw3", ["clonex-cw3-2-seed1"]), ("cw3-white", [])])
def test_the_runs_with_health_warnings_are_known(boards, name, runs):
    assert [run.name for run in boards[name].collection.runs if run.warnings] == runs


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

    def ahead(metric: str, other: str, name: str = "cw3") -> str:
        pairs = [
            (boards["cw3"].get("RECALL", sequence), boards[name].get(other, sequence))
            for sequence in (f"cw3-{number}" for number in SEQUENCES)
        ]
        difference = paired_difference(pairs, metric)
        return f"{difference.value:.2f} [{interval(difference)}]"

    by_performance = {other: ahead("average_performance", other) for other in METHODS}
    assert (
        f"RECALL is {by_performance['ClonEx']} ahead of ClonEx, seed by seed (0.08 in the paper), "
        f"and {by_performance['Fine-tuning']} ahead of fine-tuning (0.61)"
    ) in text
    by_transfer = {other: ahead("forward_transfer", other) for other in METHODS}
    assert (
        f"RECALL is {by_transfer['ClonEx']} ahead of ClonEx and {by_transfer['Fine-tuning']} ahead "
        "of fine-tuning"
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
        assert shown(text, f"cw3-{number}:", slice(1, 4)) == rounded([each.value for each in found])
        assert intervals(text, f"cw3-{number}:", slice(1, 4)) == [interval(each) for each in found]
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


@pytest.mark.parametrize(("one", "other", "tasks"), [(3, 6, 1), (5, 8, 2)])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", ["fine_tuning", "clonex", "recall"])
def test_runs_that_begin_with_the_same_tasks_are_equal_in_them(
    boards, method, seed, one, other, tasks
):
    runs = {run.name: run.training for run in boards["cw3"].collection.runs}
    first, second = (runs[f"{method}-cw3-{number}-seed{seed}"] for number in (one, other))
    rows = first["step"] < 300_000 * tasks  # the last record may belong to the next task's start
    assert np.count_nonzero(rows) >= 29 * tasks
    for column in first:
        np.testing.assert_array_equal(first[column][rows], second[column][rows])
    successes = {run.name: run.curve() for run in boards["cw3"].collection.runs}
    one_curve, other_curve = (
        successes[f"{method}-cw3-{number}-seed{seed}"] for number in (one, other)
    )
    same = one_curve.steps <= 300_000 * tasks
    assert np.count_nonzero(same) == 10 * tasks
    np.testing.assert_array_equal(
        one_curve.success[same, :tasks], other_curve.success[same, :tasks]
    )


def test_the_page_divides_forward_transfer_into_first_and_later_tasks(boards, page):
    first, later = {}, {}
    for label in METHODS:
        scores = [boards["cw3"].get(label, f"cw3-{number}") for number in SEQUENCES]
        of_tasks = [[each.value for each in one.forward_transfer_by_task] for one in scores]
        by_task = np.array(of_tasks)  # a row for each sequence, the last label's is RECALL's
        first[label], later[label] = rounded([by_task[:, 0].mean(), np.nanmean(by_task[:, 1:])])
    text = section(page, "CW3 at 300,000")
    assert f"come out at {first['Fine-tuning']} on average" in text
    assert f"RECALL has {first['RECALL']}: that part is its learner" in text
    assert (
        f"On later ones it is {later['RECALL']} with RECALL, {later['ClonEx']} with ClonEx and "
        f"{later['Fine-tuning']} with fine-tuning."
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


def test_the_reference_with_white_noise_fits_the_runs_with_white_noise():
    white = ROOT / "results" / "cw3-white"
    board = ScoreBoard(gather(white, reference=[ROOT / "results" / "reference-white"]))
    found = [value(board, "RECALL", number, "forward_transfer") for number in SEQUENCES]
    assert rounded([np.mean(found)]) == ["0.47"]


def test_the_readme_of_the_shipped_runs_names_their_commit():
    (run,) = shipped_references.FOLDER.glob("*/*/run.json")
    commit = json.loads(run.read_text())["git"]["commit"]
    assert f"commit {commit[:7]} |" in (shipped_references.FOLDER / "README.md").read_text()


def test_the_page_shows_the_tasks_alone(page):
    found: dict[str, list[tuple[float, float]]] = {}
    for run in shipped_references.shipped_references():
        (success,) = metrics.final_successes(run.curve(), window=2)
        found.setdefault(run.tasks[0], []).append((success, metrics.areas(run.curve())[0]))
    assert len(found) == 10
    for task, pairs in found.items():
        expected = rounded(np.mean(pairs, axis=0))
        assert shown(section(page, "CW3 at 300,000"), rf"{task} \|", slice(1, 3)) == expected


def test_the_page_shows_recall_and_perfect_memory_at_250_000_steps(boards, page):
    board, text = boards["learning-250k"], section(page, "CW3 at 250,000")

    def row(number: int, metric: str) -> list[float]:
        return [value(board, label, number, metric) for label in ("PM", "RECALL")]

    for number in SEQUENCES:
        expected = rounded(row(number, "average_performance"))
        assert shown(text, f"{number}:", slice(1, 3)) == expected
    for first, metric in (("mean", METRICS[0]), ("forgetting", METRICS[1])):
        means = np.mean([row(number, metric) for number in SEQUENCES], axis=0)
        assert shown(text, first, slice(1, 3)) == rounded(means)


@pytest.mark.parametrize(("label", "name"), [("RECALL", "RECALL"), ("PM", "perfect memory")])
def test_the_readme_shows_the_means_at_250_000_steps(boards, label, name):
    means = [
        mean_over_sequences(boards["learning-250k"], label, metric).value for metric in METRICS[:2]
    ]
    readme = (ROOT / "README.md").read_text()
    assert shown(readme, rf"{name}[^|]*\| 250,000", slice(3, 5)) == rounded(means)


def test_the_page_shows_the_mean_with_white_noise(boards, page):
    mean = mean_over_sequences(boards["cw3-white"], "RECALL", METRICS[0])
    text = section(page, "CW3 at 300,000")
    assert f"ended at {rounded([mean.value])[0]} [{interval(mean)}]" in text


def test_forward_transfer_needs_no_folder_but_the_package(boards):
    for number in SEQUENCES:
        assert np.isfinite(value(boards["cw3"], "RECALL", number, "forward_transfer"))
    references = shipped_references.shipped_references()
    assert {run.seed for run in references} == {0, 1, 2}
    assert len({run.tasks for run in references}) == 10


def test_the_records_are_small():
    files = [path for path in (ROOT / "results").rglob("*") if path.is_file()]
    policies = sum(path.stat().st_size for path in files if "policies" in path.parts)
    assert policies <= 10 * MEGABYTE
    assert sum(path.stat().st_size for path in files) - policies <= 10 * MEGABYTE


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_a_policy_of_every_sequence_can_be_loaded(sequence):
    folder, run = ROOT / "results" / "cw3" / "recall", f"recall-cw3-{sequence}-seed0"
    for task in range(3):
        policy = recall.load_policy(folder, task=task, run=run)
        assert policy.act(np.zeros(12), deterministic=True).shape == (4,)


@pytest.fixture(scope="module")
def exploration() -> dict[str, list[RunResult]]:
    folders = (ROOT / "results" / "exploration-150k").iterdir()
    return {folder.name: gather(folder).runs for folder in folders}


def test_the_page_shows_each_colour_on_each_task(exploration):
    page = (ROOT / "docs" / "learning.md").read_text()
    colours = {"white": 0.0, "pink": 1.0, "red": 2.0}
    successes: dict[str, dict[str, list[float]]] = {}
    for name, colour in colours.items():
        for run in exploration[f"alone-{name}"]:
            assert run.complete
            assert run.settings["schedule.noise_colour"] == colour
            (success,) = metrics.final_successes(run.curve(), window=2)
            successes.setdefault(run.tasks[0], {}).setdefault(name, []).append(success)
    assert len(successes) == 6
    for task, found in successes.items():
        row = " | ".join(f"{one:.1f}, {two:.1f}" for one, two in found.values())
        assert f"| {task} | {row} |" in page
    means = [np.mean([found[name] for found in successes.values()]) for name in colours]
    assert f"| mean | {' | '.join(rounded(means))} |" in page


@pytest.mark.parametrize(
    ("name", "start", "random_steps"),
    [
        ("pairs-pink", "from the best old head", 0),
        ("pairs-pink-random", "the same, and 10,000 random actions", 10_000),
    ],
)
def test_the_page_shows_how_second_tasks_were_found(exploration, name, start, random_steps):
    runs = exploration[name]
    assert all(run.complete for run in runs)
    assert {run.settings["schedule.random_steps_after_copy"] for run in runs} == {random_steps}
    learnt = np.array([metrics.trained_successes(run.curve(), window=2) for run in runs])
    row = f"| pink | {start} | {' | '.join(rounded(learnt.mean(axis=0)))} | "
    found = f"{np.count_nonzero(learnt[:, 1])} of {len(runs)} |"
    assert row + found in (ROOT / "docs" / "learning.md").read_text()


def test_the_page_counts_the_pegs_that_flew_away(exploration, boards):
    runs = [run for board in boards.values() for run in board.collection.runs]
    runs += [run for each in exploration.values() for run in each]
    lowest: dict[str, list[float]] = {}
    for run in runs:
        if run.method == "recall":
            for position, task in enumerate(run.tasks):
                bound = np.nanmin(run.training["q_lowest"][:, position])
                lowest.setdefault(task, []).append(bound * (1.0 - 0.99))
    pegs = np.array(lowest.pop("peg-unplug-side"))
    page = (ROOT / "docs" / "learning.md").read_text()
    assert f"{np.count_nonzero(pegs < -100.0)} of {len(pegs)} runs have one below -100" in page
    assert min(map(min, lowest.values())) > -12.0
    assert len(lowest) == 9
