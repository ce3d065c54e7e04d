"""Which tasks of a family are learnt and kept, over all of its sequences."""

import pytest

from tests.factories.folders import write_fleet
from tests.factories.tables import cell_of, tables_of

CHANGES = {"steps_per_task": 1_000, "evaluate_every": 200}


def forgetful(seed: int, position: int, step: int) -> float:
    """Each task is known while it is learnt and, but for the third, half forgotten at the end."""
    learns = position * 1_000 < step <= (position + 1) * 1_000
    return 1.0 if learns else 0.5


def test_tasks_are_averaged_over_their_places_in_all_sequences(tmp_path):
    # cw3-1 is push, window-close, hammer; cw3-2 is hammer, window-close, faucet-close.
    for number in (1, 2):
        write_fleet(tmp_path / str(number), "ewc", f"cw3-{number}", (0, 1), forgetful, **CHANGES)
    tables = tables_of(tmp_path)
    learnt, end = (tables[f"cw3-tasks-{name}"] for name in ("learnt", "end"))
    headings = ["faucet-close (1)", "hammer (2)", "push (1)", "window-close (2)", "all (6)"]
    assert [row.heading for row in end.rows] == headings
    assert {row.cells[0].ours.value for row in learnt.rows} == {1.0}
    expected = [1.0, 0.75, 0.5, 0.5, pytest.approx(4 / 6)]
    assert [cell_of(end, heading, "EWC").ours.value for heading in headings] == expected
    assert "cw3-transfer-by-place" not in tables  # nothing to compare with


def test_transfer_is_shown_for_first_and_for_later_tasks(tmp_path):
    for task in ("push", "window-close", "hammer", "faucet-close"):
        write_fleet(tmp_path / task, "fine_tuning", task, (0,), lambda *_: 0.2, **CHANGES)
    for number in (1, 2):
        write_fleet(tmp_path / str(number), "ewc", f"cw3-{number}", (0,),
                    lambda seed, position, step: 0.2 if position == 0 else 0.6,
                    **CHANGES)  # fmt: skip
    table = tables_of(tmp_path)["cw3-transfer-by-place"]
    assert cell_of(table, "EWC", "first tasks").ours.value == pytest.approx(0.0)
    assert cell_of(table, "EWC", "later tasks").ours.value == pytest.approx(0.5)


def test_means_are_over_the_sequences_that_methods_share(tmp_path):
    for number in (1, 2, 3):
        write_fleet(tmp_path / f"ewc{number}", "ewc", f"cw3-{number}", (0,), forgetful, **CHANGES)
    for number in (1, 2):
        write_fleet(tmp_path / f"recall{number}", "recall", f"cw3-{number}", (0,), forgetful,
                    **CHANGES)  # fmt: skip
    write_fleet(tmp_path / "l2", "l2", "cw3-3", (0,), forgetful, **CHANGES)
    tables = tables_of(tmp_path)
    for name in ("cw3-tasks-end", "cw3-average_performance-differences"):
        assert tables[name].columns == ("EWC", "RECALL")
        assert "Over cw3-1, cw3-2." in tables[name].notes
        assert "Left out: L2, with too few of these." in tables[name].notes
    assert [row.heading for row in tables["cw3-tasks-end"].rows][-1] == "all (6)"
