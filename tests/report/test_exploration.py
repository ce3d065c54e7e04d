"""Which old head explored each new task."""

from tests.factories.folders import append_training, write_fleet
from tests.factories.tables import cell_of, tables_of

SEQUENCE = "push,hammer,window-close"


def choice(run: int, position: int, best: object) -> dict[str, object]:
    returns = [1.0] * position
    return {"run": run, "step": position * 1_000, "position": position, "head_returns": returns,
            "best_head": best}  # fmt: skip


def test_choices_are_counted_over_the_runs(tmp_path):
    folder = write_fleet(tmp_path / "recall", "recall", SEQUENCE, (0, 1, 2))
    for run, best in enumerate((1, 0, 1)):
        append_training(folder, choice(run, 1, 0), choice(run, 2, best))
    write_fleet(tmp_path / "ewc", "ewc", SEQUENCE, (0,))
    table = tables_of(tmp_path)["exploration"]
    assert table.columns == ("RECALL",)  # EWC starts every task with random actions
    assert [row.heading for row in table.rows] == [f"{SEQUENCE}: 3 window-close"]
    assert cell_of(table, table.rows[0].heading, "RECALL").text == "hammer 2, push 1"


def test_damaged_choices_are_left_out(tmp_path):
    folder = write_fleet(tmp_path, "recall", SEQUENCE, (0, 1, 2))
    append_training(folder, choice(0, 2, 7), choice(1, 2, None), choice(2, 2, 0))
    table = tables_of(tmp_path)["exploration"]
    assert [row.cells[0].text for row in table.rows] == ["push 1"]


def test_there_is_no_table_without_a_choice(tmp_path):
    write_fleet(tmp_path / "pair", "recall", "push,hammer", (0,))
    write_fleet(tmp_path / "three", "fine_tuning", SEQUENCE, (0,))
    assert "exploration" not in tables_of(tmp_path)


def test_heads_of_a_repeated_task_are_told_apart(tmp_path):
    folder = write_fleet(tmp_path, "recall", "push,hammer,push,hammer", (0, 1, 2))
    append_training(folder, choice(0, 3, 0), choice(1, 3, 2), choice(2, 3, 2))
    table = tables_of(tmp_path)["exploration"]
    assert [row.cells[0].text for row in table.rows] == ["push (task 3) 2, push (task 1) 1"]
