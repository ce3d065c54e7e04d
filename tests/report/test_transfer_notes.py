"""Notes on what forward transfer compares with, and on what is left out."""

from recall.commands import study as command
from recall.studies import study_named
from tests.factories.folders import write_fleet
from tests.factories.tables import tables_of

PERFECT = "handle-press-side"


def test_a_perfect_reference_is_told_to_leave_nothing_to_gain(tmp_path):
    write_fleet(tmp_path / "a", "recall", "push,hammer")
    write_fleet(tmp_path / "b", sequence="push", success=lambda *_: 1.0)
    write_fleet(tmp_path / "c", sequence="hammer", success=lambda *_: 0.5)
    tables = tables_of(tmp_path)
    (note,) = (each for each in tables["push,hammer"].notes if "nothing to gain" in each)
    assert note.startswith("push is left out of the forward transfer of RECALL: plain SAC leaves")
    # The mean is that of hammer alone: (0.625 - 0.5) / 0.5.
    (row,) = tables["push,hammer"].rows
    assert row.cells[2].ours.value == 0.25
    assert note in tables["push,hammer-transfer"].notes


def test_a_perfect_shipped_reference_is_not_told_to_be_compared_with(tmp_path):
    schedule = {"steps_per_task": 300_000, "evaluate_every": 30_000}
    schedule |= {"n_step": 1, "random_tails": 0.0}  # as the shipped runs
    write_fleet(tmp_path / "a", "recall", "cw3-7", seeds=(0,), **schedule)
    notes = tables_of(tmp_path)["cw3-forward_transfer"].notes
    (origin,) = (each for each in notes if "recorded with the package" in each)
    assert "compares window-close, peg-unplug-side with" in origin
    assert any(each.startswith(f"{PERFECT} is left out of the forward") for each in notes)


def test_without_references_the_tables_of_cw3_have_the_command_that_trains_them(tmp_path):
    write_fleet(tmp_path / "a", "recall", ["cw3-1", "cw3-2"])
    tables = tables_of(tmp_path)
    assert "cw3-forward_transfer" not in tables
    (advice,) = tables["cw3-forgetting"].advice
    assert "Forward transfer of RECALL is left out" in advice
    assert "`recall train --method fine_tuning --sequence push window-close hammer faucet" in advice
    assert not tables["cw3-average_performance"].advice


def test_tasks_that_are_refused_for_the_same_reason_are_told_together(tmp_path):
    write_fleet(tmp_path / "a", "recall", "push,hammer,push-back")
    write_fleet(tmp_path / "b", sequence=["push", "hammer"], discount=0.9)
    write_fleet(tmp_path / "c", sequence="push-back", discount=0.8)
    (note,) = (
        each
        for each in tables_of(tmp_path)["push,hammer,push-back"].advice
        if each.startswith("Not comparable with RECALL, so left out: ")
    )
    assert note.count(" has discount 0.9 and not discount 0.99") == 1
    assert f"push in {tmp_path / 'b'} has discount 0.9" in note
    assert " (hammer likewise); " in note
    assert f"; push-back in {tmp_path / 'c'} has discount 0.8" in note


def test_the_papers_slip_is_told_where_it_is_shown(tmp_path):
    told = "0.30 [-0.81, 0.17] is as the paper prints it: the interval does not hold its mean."
    for name in ("cw3-7", "cw3-8"):
        write_fleet(tmp_path / name, "recall", name, seeds=(0,))
        tasks = ["faucet-close", "shelf-place", "peg-unplug-side", "window-close", PERFECT]
        if name == "cw3-7":
            write_fleet(tmp_path / "alone", sequence=tasks, success=lambda *_: 0.5, seeds=(0,))
        notes = tables_of(tmp_path)["cw3-forward_transfer"].notes
        assert (told in notes) == (name == "cw3-8")


def test_the_end_of_a_study_points_to_the_report_which_has_the_whole_command(tmp_path, capsys):
    write_fleet(tmp_path / "a", "recall", "cw3-1", preset="quick", discount=0.9)
    command._tell_report(study_named("cw3"), tmp_path, 0.05)
    told = capsys.readouterr().out
    assert f"`recall report {tmp_path}` shows the results" in told
    assert "the same settings and scale 0.05: if none are found, the report has" in told
    assert "recall study reference" not in told  # it would train with other settings
    (advice,) = tables_of(tmp_path)["cw3-forgetting"].advice
    assert "--seeds 0 1 --preset quick" in advice
    assert "--sac.discount 0.9" in advice
    command._tell_report(study_named("reference"), tmp_path / "my study", 0.05)
    assert capsys.readouterr().out == f"`recall report '{tmp_path}/my study'` shows the results\n"
