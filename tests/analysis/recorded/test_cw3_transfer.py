"""Forward transfer on CW3 at 300,000 steps: docs/results.md says what the records say."""

import numpy as np
import pytest

from recall.analysis import metrics, shipped_references
from recall.analysis.differences import mean_difference
from recall.analysis.scores import ScoreBoard
from tests.analysis.recorded.pages import (
    METHODS,
    ROOT,
    SEQUENCES,
    of_method,
    rounded,
    row_of,
    section,
    shown,
    with_interval,
)


@pytest.fixture(scope="module")
def text(page) -> str:
    return section(page, "CW3 at 300,000")


def test_the_page_shows_forward_transfer_on_first_and_later_tasks(text, transfers, at_the_end):
    with_room = {task for task, area in areas_alone().items() if area < 0.6}
    assert with_room == {"push", "hammer", "push-wall", "push-back", "shelf-place", "stick-pull"}
    tasks, _ = at_the_end["recall"]
    of_sequence = tasks[:: len(tasks) // len(SEQUENCES)]
    room = np.isin(of_sequence[:, 1:], list(with_room))
    for method, label in METHODS.items():
        first, later = transfers[method][:, 0], transfers[method][:, 1:]
        found = [first.mean(), np.nanmean(later), later[room].mean()]
        row = shown(section(text, "Forward transfer"), rf"{row_of(label)} \|", slice(1, 4))
        assert row == rounded(found)


def transfers_by_seed(board: ScoreBoard, label: str, positions: slice) -> dict[int, float]:
    """Mean forward transfer over sequences and these positions, where there is room, by seed."""
    alone = areas_alone()
    found: dict[int, list[float]] = {}
    for number in SEQUENCES:
        scores = board.get(label, f"cw3-{number}")
        reference = np.array([alone[task] for task in scores.tasks[positions]])
        room = reference < 1.0
        for run, areas in zip(scores.runs, scores.areas[:, positions], strict=True):
            found.setdefault(run.seed, []).extend(
                (areas[room] - reference[room]) / (1.0 - reference[room])
            )
    return {seed: float(np.mean(each)) for seed, each in found.items()}


def areas_alone() -> dict[str, float]:
    """Mean area under the curve of plain SAC on each task alone."""
    found: dict[str, list[float]] = {}
    for run in shipped_references.shipped_references():
        found.setdefault(run.tasks[0], []).append(metrics.areas(run.curve())[0])
    return {task: float(np.mean(areas)) for task, areas in found.items()}


def test_the_page_shows_the_lead_in_transfer_on_later_tasks(boards, text):
    def ahead(method: str, other: str, positions: slice) -> str:
        ours, theirs = (
            transfers_by_seed(boards["cw3"], label, positions) for label in (method, other)
        )
        return with_interval(mean_difference([{seed: ours[seed] - theirs[seed] for seed in ours}]))

    later = [ahead("RECALL", other, slice(1, None)) for other in ("ClonEx", "Fine-tuning")]
    assert "it is {} ahead of ClonEx and {} ahead of fine-tuning.".format(*later) in text
    chance = ahead("Fine-tuning", "EWC", slice(1))
    assert f"so is its lead in forward transfer, {chance}:" in text


def test_the_page_shows_how_far_apart_equal_methods_are(boards, text, just_learnt):
    runs = of_method(boards["cw3"], "ewc")
    seeds = np.array([run.seed for run in runs])
    plain, ewc = (just_learnt[method][1][:, 0] for method in ("fine_tuning", "ewc"))
    apart = {seed: (plain - ewc)[seeds == seed].mean() for seed in range(3)}
    chance = with_interval(mean_difference([apart]))
    assert f"Fine-tuning's lead over EWC there, {chance}, is chance" in text


def test_the_page_shows_what_later_tasks_owe_to_earlier_ones(boards, text):
    part, alone = section(text, "Own first tasks"), areas_alone()
    scores = {number: boards["cw3"].get("RECALL", f"cw3-{number}") for number in SEQUENCES}
    first: dict[str, float] = {}
    for each in scores.values():  # sequences that begin alike have the same runs of it
        first.setdefault(each.tasks[0], each.areas[:, 0].mean())
    transfer = []
    for number, each in scores.items():
        for position in (1, 2):
            if (task := each.tasks[position]) not in first:
                continue
            area = each.areas[:, position].mean()
            row = shown(part, f"{task}, {number}", slice(1, 4))
            assert row == rounded([area, first[task], alone[task]])
            transfer.append([(area - base) / (1 - base) for base in (alone[task], first[task])])
    assert len(transfer) == 6
    plain, own = np.mean(transfer, axis=0)
    assert f"is {plain:.2f} against plain SAC and {own:.2f} against RECALL's own" in part
    assert own / plain == pytest.approx(0.75, abs=0.05)
    assert (
        "About three quarters of it is owed to earlier tasks"
        in (ROOT / "docs" / "results.md").read_text()
    )


def test_the_page_shows_the_transfer_to_the_peg(text, transfers):
    ewc, packnet, recall = (
        "{} and {}".format(*rounded(transfers[method][6:, 2]))
        for method in ("ewc", "packnet", "recall")
    )
    (memory,) = rounded([transfers["perfect_memory"][6, 2]])
    assert (
        f"EWC ({ewc}) and PackNet ({packnet}), and in sequence 7 with perfect memory ({memory}). "
        f"With RECALL it is {recall}"
    ) in text
    assert np.isnan(transfers["recall"][6, 1])  # plain SAC leaves nothing to gain
