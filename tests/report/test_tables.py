"""The tables: which there are, what stands in them, what is bold, and what is noted."""

import pytest

from recall.analysis.estimates import Estimate
from recall.analysis.metrics import Measure
from recall.report.tables.pivot import Cell, Table
from tests.factories import tables
from tests.factories.folders import STEPS, write_fleet, write_log
from tests.factories.tables import cell_of

CW3 = [f"cw3-{number}" for number in range(1, 9)]
# A stage has four evaluations: one is looked at, so that numbers can be worked out by hand.
LAST = Measure(window=1)


def tables_of(folder) -> dict[str, Table]:
    return tables.tables_of(folder, LAST)


def forgets(seed, position, step):
    """Learns each task fully and keeps 0.1 of it, 0.2 with the other seed, after its stage."""
    over = step > (position + 1) * STEPS
    return 0.1 * (1 + seed) if over else float(step > position * STEPS)


def headings(table):
    return [row.heading for row in table.rows]


def ours(table, row, column):
    found = cell_of(table, row, column).estimate
    return None if found is None else found.value


def test_cw3_by_hand_with_the_papers_numbers_in_rows_of_their_own(tmp_path):
    write_fleet(tmp_path / "a", "recall", CW3[:2])
    write_fleet(tmp_path / "b", "fine_tuning", CW3[:2], success=forgets)
    tables = tables_of(tmp_path)
    performance = tables["cw3-average_performance"]
    assert performance.columns == ("Fine-tuning", "EWC", "PackNet", "ClonEx", "PM", "RECALL")
    assert headings(performance) == ["1", "1 (paper)", "2", "2 (paper)"]
    best = cell_of(performance, "1", "RECALL")
    assert (best.estimate, best.bold, best.runs) == ((1.0, (1.0, 1.0)), True, 2)
    assert cell_of(performance, "1 (paper)", "RECALL") == Cell(Estimate(0.9, (0.88, 0.92)))
    worse = cell_of(performance, "1", "Fine-tuning")
    # Seeds end with (0.1 + 0.1 + 1) / 3 and (0.2 + 0.2 + 1) / 3.
    assert worse.estimate.value == pytest.approx((0.4 + 1.4 / 3) / 2)
    assert worse.estimate.interval == pytest.approx((0.4, 1.4 / 3))
    assert not worse.bold
    forgetting = ours(tables["cw3-forgetting"], "2", "Fine-tuning")
    assert forgetting == pytest.approx((2 * 0.9 / 3 + 2 * 0.8 / 3) / 2)
    assert "2 runs, 1,000 steps per task" in performance.notes[0]
    assert "5 runs of 1,000,000 steps per task" in " ".join(performance.notes)
    assert "cw3-forward_transfer" not in tables
    assert "recall train --method fine_tuning" in " ".join(tables["cw3-forgetting"].advice)


def test_the_mean_over_all_eight_has_an_interval_over_seeds(tmp_path):
    write_fleet(tmp_path / "a", "recall", CW3, success=forgets)
    tables = tables_of(tmp_path)
    mean = cell_of(tables["cw3-average_performance"], "mean", "RECALL")
    assert mean.estimate.value == pytest.approx((0.4 + 1.4 / 3) / 2)
    # Seed 0 is low on all eight sequences: eight sequences tell no more of it than one does.
    assert mean.estimate.interval == pytest.approx((0.4, 1.4 / 3))
    assert mean.runs == 16
    paper = cell_of(tables["cw3-average_performance"], "mean (paper)", "RECALL").estimate
    assert paper == cell_of(tables["cw3"], "RECALL (paper)", "average performance").estimate
    assert paper == (0.92, None)
    assert cell_of(tables["cw3"], "RECALL", "average performance").estimate == mean.estimate


def test_the_papers_numbers_belong_to_the_plain_method_and_stand_once(tmp_path):
    write_fleet(tmp_path / "a", "clonex", "cw3-1", weight=0.5)
    write_log(tmp_path / "b", ["push-v1", "window-close-v1", "hammer-v1"], cl_method="ewc")
    table = tables_of(tmp_path)["cw3-average_performance"]
    assert ours(table, "1", "EWC, imported") == 1.0
    assert ours(table, "1", "ClonEx, λ 0.5") == 1.0
    for label in ("EWC, imported", "ClonEx, λ 0.5"):
        assert cell_of(table, "1 (paper)", label).estimate is None
    assert cell_of(table, "1 (paper)", "EWC").estimate.value == 0.71
    write_fleet(tmp_path / "e", "recall", "cw10", seeds=(0,))
    write_fleet(tmp_path / "f", "recall", "cw20", preset="paper", seeds=(0,))
    table = tables_of(tmp_path)["cw10"]
    assert headings(table).count("RECALL") == headings(table).count("RECALL (paper)") == 1
    assert cell_of(table, "RECALL", "average performance").estimate == (1.0, None)
    assert cell_of(table, "RECALL (paper)", "forgetting").estimate == (-0.03, (-0.04, -0.03))
    assert "EWC (paper)" in headings(table)
    assert not any(cell.bold for row in table.rows for cell in row.cells)
    pairs = ["pair-0-1", "pair-0-2"]
    write_fleet(tmp_path / "c", "recall", pairs)
    write_fleet(tmp_path / "d", "recall", pairs, preset="paper")
    assert sorted(headings(tables_of(tmp_path)["pairs"])) == [
        "RECALL", "RECALL (paper)", "RECALL, preset paper"
    ]  # fmt: skip


def test_tasks_of_a_family_are_averaged_over_their_places(tmp_path):
    for number in (1, 2, 3):
        write_fleet(tmp_path / f"{number}", "ewc", f"cw3-{number}", success=forgets)
    for number in (1, 2):
        write_fleet(tmp_path / f"r{number}", "recall", f"cw3-{number}")
    write_fleet(tmp_path / "l2", "l2", "cw3-3")
    write_fleet(tmp_path / "m", "multi_task", CW3[:2])
    tables = tables_of(tmp_path)
    end = tables["cw3-tasks-end"]
    # cw3-1 is push, window-close, hammer; cw3-2 is hammer, window-close, faucet-close.
    assert headings(end) == [
        "faucet-close (1)", "hammer (2)", "push (1)", "window-close (2)", "all (6)"
    ]  # fmt: skip
    found = [ours(end, heading, "EWC") for heading in headings(end)]
    assert found == pytest.approx([1.0, 0.575, 0.15, 0.15, (2 + 4 * 0.15) / 6])
    assert cell_of(end, "hammer (2)", "EWC").runs == 4
    assert end.columns == ("EWC", "RECALL", "Multi-task")
    ahead = cell_of(tables["cw3-average_performance-differences"], "RECALL", "EWC")
    assert ahead.estimate.value == pytest.approx(2 / 3 * 0.85)
    assert "Over cw3-1, cw3-2." in end.notes
    assert "Left out: L2, with too few of these." in end.notes


def test_transfer_needs_references_and_says_what_to_run_without(tmp_path):
    write_fleet(tmp_path / "a", "recall", "push,hammer")
    table = tables_of(tmp_path)["push,hammer"]
    assert "forward transfer" not in table.columns
    command = (
        "`recall train --method fine_tuning --sequence push hammer --seeds 0 1 --steps-per-task "
        "1000 --evaluate-every 250`"
    )
    assert any(command in note for note in table.advice)
    write_fleet(tmp_path / "b", sequence=[["push"], ["hammer"]], success=lambda *_: 0.5)
    tables = tables_of(tmp_path)
    found = cell_of(tables["push,hammer"], "RECALL", "forward transfer").estimate
    # Own areas are (0.25 + 0.5 + 0.75 + 1) / 4 = 0.625: (0.625 - 0.5) / 0.5.
    assert (found.value, *found.interval) == pytest.approx((0.25, 0.25, 0.25))
    assert ours(tables["push,hammer-transfer"], "RECALL", "2 hammer") == 0.25
    assert not tables["push,hammer"].advice
    alone = tables["single-tasks"]
    assert ours(alone, "push", "area under the curve") == 0.5
    assert "Tasks learned alone by Fine-tuning" in alone.title


def test_a_task_without_room_to_gain_is_left_out_and_shipped_runs_are_told(tmp_path):
    schedule = {"steps_per_task": 300_000, "evaluate_every": 30_000}
    write_fleet(tmp_path / "a", "recall", "cw3-7", seeds=(0,), **schedule)
    notes = " ".join(tables_of(tmp_path)["cw3-forward_transfer"].notes)
    assert "shipped with the package" in notes
    assert "leaves out handle-press-side" in notes


def test_pairs_are_averaged_and_counted(tmp_path):
    def second_fails(seed, position, step):
        return 0.4 if position == 0 and step > STEPS else float(position == 0)

    pairs = [f"pair-{first}-0" for first in range(5)]
    write_fleet(tmp_path / "a", "perfect_memory", pairs, success=second_fails)
    write_fleet(tmp_path / "b", "recall", pairs)
    write_fleet(tmp_path / "c", "multi_task", pairs)
    tables = tables_of(tmp_path)
    means, counts = tables["pairs"], tables["pairs-counts"]
    assert ours(means, "PM", "first task") == pytest.approx(0.4)
    assert ours(means, "PM", "first task's forgetting") == pytest.approx(0.6)
    assert cell_of(means, "PM (paper)", "second task").estimate.value == 0.44
    assert cell_of(means, "RECALL", "second task").bold
    assert [cell.estimate.value for cell in counts.rows[0].cells] == [5, 5, 5]
    assert [cell.estimate.value for cell in counts.rows[1].cells] == [31, 56, 13]
    assert ours(means, "Multi-task", "first task's forgetting") is None
    assert ours(counts, "Multi-task", "first task loses more than 0.1") is None
    assert "pair-0-0" not in tables


def test_counts_are_not_moved_by_rounding(tmp_path):
    levels = (0.6, 0.7, 0.2)
    assert sum(levels) / 3 < 0.5
    assert 0.4 - 0.3 > 0.1

    def success(seed, position, step):
        if position == 0:
            return 0.3 if step > STEPS else 0.4
        return levels[seed]

    write_fleet(tmp_path / "a", "recall", ["pair-0-1", "pair-1-2"], range(3), success)
    counts = tables_of(tmp_path)["pairs-counts"]
    assert [cell.estimate.value for cell in counts.rows[0].cells] == [0, 0, 0]


def test_only_pairs_that_all_methods_have_are_compared(tmp_path):
    easy, hard = ["pair-0-1", "pair-1-2"], ["pair-2-3", "pair-3-4"]
    write_fleet(tmp_path / "a", "perfect_memory", easy)
    write_fleet(tmp_path / "b", "recall", easy)
    write_fleet(tmp_path / "c", "recall", hard, success=lambda *_: 0.0)
    write_fleet(tmp_path / "d", "recall", hard, distil=False)
    table = tables_of(tmp_path)["pairs"]
    for label in ("PM", "RECALL"):
        found = cell_of(table, label, "second task")
        assert (found.estimate.value, found.bold, found.runs) == (1.0, True, 4)
    assert all("no distillation" not in row.heading for row in table.rows)
    assert "Left out, as run on other pairs: RECALL, no distillation." in table.notes


def test_weights_of_the_distillation_stand_beside_the_papers(tmp_path):
    for weight in (0.1, 10.0, 100.0):
        write_fleet(tmp_path / f"{weight}", "recall", "cw6-1", distillation_weight=weight)
    table = tables_of(tmp_path)["variants-RECALL-cw6-1-1"]
    weights = ("RECALL", "λ 0.1", "λ 100")
    assert headings(table) == [name for w in weights for name in (w, f"{w} (paper)")]
    assert cell_of(table, "λ 100 (paper)", "average performance").estimate == (0.88, (0.86, 0.89))


def test_variants_are_compared_on_the_sequences_they_share(tmp_path):
    write_fleet(tmp_path / "a", "recall", CW3[:3])
    write_fleet(tmp_path / "b", "recall", CW3[:2], distil=False, success=forgets)
    write_fleet(tmp_path / "c", "recall", ["cw3-1", "cw3-3"], normalise_targets=False)
    tables = tables_of(tmp_path)
    table = tables["variants-RECALL-cw3-1-2"]
    assert headings(table) == ["RECALL", "no distillation"]
    assert cell_of(table, "RECALL", "average performance").runs == 4
    assert "cw3-1, cw3-3" in tables["variants-RECALL-cw3-1-2-2"].title
    assert "RECALL, no distillation" not in tables["cw3-average_performance"].columns


# What each method has of every task by the end; by v2, the first and the third change places.
ENDS = {"fine_tuning": (0.9, 0.3), "ewc": (0.5, 0.5), "l2": (0.2, 0.8), "mas": (0.1, 0.1)}


def write_rewarded(folder, method, reward, end, **changes):
    def success(seed, position, step):
        return end * (step > position * STEPS)

    write_fleet(folder / f"{method}-{reward}", method, success=success, reward=reward, **changes)


def test_methods_are_compared_by_each_reward(tmp_path):
    for method, ends in ENDS.items():
        for reward, end in zip(("v1", "v2"), ends, strict=True):
            write_rewarded(tmp_path, method, reward, end)
    write_rewarded(tmp_path, "recall", "v1", 1.0)  # by one reward alone
    table = tables_of(tmp_path)["push,hammer-rewards"]
    assert headings(table) == ["Fine-tuning", "EWC", "L2", "MAS"]
    for column, reward in enumerate(("reward v1", "reward v2")):
        expected = [ends[column] for ends in ENDS.values()]
        assert [ours(table, row, reward) for row in headings(table)] == pytest.approx(expected)
    bold = {(row, column) for row in headings(table) for column in table.columns
            if cell_of(table, row, column).bold}  # fmt: skip
    assert bold == {("Fine-tuning", "reward v1"), ("L2", "reward v2")}
    # 1 - 6 (4 + 0 + 4 + 0) / (4 (16 - 1))
    assert "4 methods: 0.20" in table.notes[-1]


def test_equal_methods_have_no_correlation_and_variants_are_methods_of_their_own(tmp_path):
    for reward, tuned in (("v1", 0.5), ("v2", 1.0)):
        write_rewarded(tmp_path / "a", "l2", reward, 0.5)
        write_rewarded(tmp_path / "b", "mas", reward, 0.5)
        write_rewarded(tmp_path / "c", "l2", reward, tuned, weight=3.0)
    table = tables_of(tmp_path)["push,hammer-rewards"]
    assert headings(table) == ["L2", "L2, λ 3", "MAS"]
    assert "correlation" not in " ".join(table.notes)
