"""The paper's numbers beside ours, and what is said of settings that are not the paper's."""

import pytest

from tests.factories.folders import write_fleet
from tests.factories.tables import tables_of


def told_settings(folder) -> str:
    """What a report says about the settings of a folder's only method."""
    (note,) = [
        note
        for note in tables_of(folder)["cw3-average_performance"].notes
        if note.startswith("Settings that are not the paper's")
    ]
    return note


def test_distilled_critics_are_told_if_anything_is_distilled(tmp_path):
    for name, distil in (("on", True), ("off", False)):
        write_fleet(tmp_path / name, "recall", "cw3-1", distil=distil)
    assert "distil critics" in told_settings(tmp_path / "on")
    note = told_settings(tmp_path / "off")
    assert "no distillation" in note
    assert "distil critics" not in note


def test_settings_are_told_if_they_have_an_effect_and_exploration_first(tmp_path):
    write_fleet(tmp_path / "a", "fine_tuning", "cw3-1", noise_colour=1.0)
    note = told_settings(tmp_path)
    assert note.startswith("Settings that are not the paper's: noise colour 1, ")
    assert "bias corrected" not in note  # of PopArt, which fine-tuning does not use
    assert "after a copy" not in note  # it copies no policy


def test_the_papers_row_of_a_method_is_shown_once(tmp_path):
    pairs = ["pair-0-1", "pair-0-2"]
    write_fleet(tmp_path / "a", "recall", pairs)
    write_fleet(tmp_path / "b", "recall", pairs, preset="paper")
    headings = [row.heading for row in tables_of(tmp_path)["pairs"].rows]
    assert sorted(headings) == ["RECALL", "RECALL (paper)", "RECALL, preset paper"]


@pytest.mark.parametrize(
    ("method", "changes"),
    [
        ("recall", {}),
        ("recall", {"replay_capacity": 5_000}),
        ("recall", {"random_steps": 0}),
        ("recall", {"environments": 50}),
        ("recall", {"policy_lag": 1}),
        ("packnet", {"retraining_updates": 0}),
    ],
)
def test_only_runs_as_in_the_paper_share_its_cells(tmp_path, method, changes):
    write_fleet(
        tmp_path,
        method,
        "cw3-1",
        preset="paper",
        steps_per_task=1_000_000,
        evaluate_every=500_000,
        **changes,
    )
    table = tables_of(tmp_path)["cw3-average_performance"]
    ours = next(each for row in table.rows for each in row.cells if each.ours is not None)
    assert (ours.paper is not None) == (not changes)
    told = [note for note in table.notes if note.startswith("Settings that are not the paper's")]
    assert bool(told) == bool(changes)
