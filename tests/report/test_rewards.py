"""The table of rewards: the rank of every method by both, and how far the ranks agree."""

import pytest

from recall.analysis.metrics import Measure
from tests.factories.folders import STEPS, write_fleet
from tests.factories.tables import cell_of, tables_of

LAST = Measure(window=1)
# What each method has of every task by the end; by v2, the first and the third change places.
ENDS = {"fine_tuning": (0.9, 0.3), "ewc": (0.5, 0.5), "l2": (0.2, 0.8), "mas": (0.1, 0.1)}


def write(folder, method, reward, end, **changes):
    def success(seed, position, step):
        return end * (step > position * STEPS)

    write_fleet(folder / f"{method}-{reward}", method, success=success, reward=reward, **changes)


def test_methods_are_ranked_by_each_reward(tmp_path):
    for method, ends in ENDS.items():
        for reward, end in zip(("v1", "v2"), ends, strict=True):
            write(tmp_path, method, reward, end)
    write(tmp_path, "recall", "v1", 1.0)  # by one reward alone
    table = tables_of(tmp_path, LAST)["push,hammer-rewards"]
    assert [row.heading for row in table.rows] == ["Fine-tuning", "EWC", "L2", "MAS"]
    assert [cell_of(table, row.heading, "rank by v1").text for row in table.rows] == list("1234")
    assert [cell_of(table, row.heading, "rank by v2").text for row in table.rows] == list("3214")
    assert cell_of(table, "L2", "reward v1").estimate.value == pytest.approx(0.2)
    assert cell_of(table, "L2", "reward v2").estimate.value == pytest.approx(0.8)
    bold = {
        (r.heading, c)
        for r in table.rows
        for c in table.columns
        if cell_of(table, r.heading, c).bold
    }
    assert bold == {("Fine-tuning", "reward v1"), ("L2", "reward v2")}
    # 1 - 6 (4 + 0 + 4 + 0) / (4 (16 - 1))
    assert "4 methods: 0.20" in table.notes[-1]


def test_equal_methods_share_a_rank_and_variants_are_methods_of_their_own(tmp_path):
    for reward, tuned in (("v1", 0.5), ("v2", 1.0)):
        write(tmp_path / "a", "l2", reward, 0.5)
        write(tmp_path / "b", "mas", reward, 0.5)
        write(tmp_path / "c", "l2", reward, tuned, weight=3.0)
    table = tables_of(tmp_path, LAST)["push,hammer-rewards"]
    assert [row.heading for row in table.rows] == ["L2", "L2, λ 3", "MAS"]
    assert [cell_of(table, row.heading, "rank by v1").text for row in table.rows] == ["2", "2", "2"]
    assert [cell_of(table, row.heading, "rank by v2").text for row in table.rows] == [
        "2.5", "1", "2.5"
    ]  # fmt: skip
    assert "correlation" not in " ".join(table.notes)  # where all are equal there is none
