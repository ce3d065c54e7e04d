"""Two folders side by side, paired differences, and methods chosen, ordered and renamed."""

import json

import pytest

import recall
from recall.analysis.arrange import arranged, names_from
from recall.analysis.collection import gather
from recall.analysis.differences import mean_difference, paired_difference
from recall.analysis.measures import FORGETTING, PERFORMANCE
from recall.analysis.scores import ScoreBoard
from recall.cli import main
from recall.errors import BadValueError, UnknownNameError
from recall.report.compare import compare
from recall.report.figures import Scene
from recall.report.summary import verdicts
from recall.report.tables import all_tables
from tests.factories.figures import drawn, legend
from tests.factories.folders import write_fleet
from tests.factories.tables import cell_of, tables_of


def level(*values):
    """A success for each seed, at every step."""
    return lambda seed, position, step: values[seed]


def test_folders_are_compared_seed_by_seed(tmp_path, capsys):
    write_fleet(tmp_path / "old", "recall", "push,hammer", (0, 1, 2), level(0.1, 0.5, 0.9))
    write_fleet(tmp_path / "new", "recall", "push,hammer", (1, 2, 3), level(0, 0.7, 1.0, 0.4),
                distillation_weight=1.0, hidden=(8, 8, 8))  # fmt: skip
    write_fleet(tmp_path / "new" / "more", "ewc", "push,hammer", (0,))
    made = compare(tmp_path / "old", tmp_path / "new", tmp_path / "out", figures=False)
    settings, metrics = made.tables
    assert {row.heading: [cell.text for cell in row.cells] for row in settings.rows} == {
        "recall: method.distillation_weight": ["10.0", "1.0"],
        "recall: learner.network.hidden": ["256x256x256x256", "8x8x8"],
    }
    assert metrics.columns == ("old", "new", "difference")
    old, new, difference = metrics.rows[0].cells
    assert (old.ours.value, new.ours.value) == pytest.approx((0.5, 0.7))
    # Seeds 1 and 2 are in both: 0.7 - 0.5 and 1.0 - 0.9. Student's t with one degree of freedom
    # is 6.3138 at 95 %, and the standard error 0.05.
    assert difference.ours.value == pytest.approx(0.15)
    assert difference.ours.interval == pytest.approx((0.15 - 0.31569, 0.15 + 0.31569), abs=1e-5)
    assert difference.runs == 2
    assert "new minus old, over 2 shared seeds" in metrics.notes[-1]
    main(["compare", str(tmp_path / "old"), str(tmp_path / "new"), "--no-figures", "--out",
          str(tmp_path / "out")])  # fmt: skip
    assert "Settings that differ" in capsys.readouterr().out
    page = (tmp_path / "out" / "index.html").read_text()
    assert "Report of old and new" in page


def test_tasks_alone_and_tasks_without_success_stand_in_one_table(tmp_path):
    for name, value in (("old", 0.2), ("new", 0.6)):
        write_fleet(tmp_path / name / "alone", "recall", "push", (0, 1), level(value, value))
        silent = write_fleet(
            tmp_path / name / "silent", "recall", "push,hammer", (0, 1), level(0, 0)
        )
        path = silent / "run.json"
        known = json.loads(path.read_text()) | {"without_success": ["push", "hammer"]}
        path.write_text(json.dumps(known))
    made = compare(tmp_path / "old", tmp_path / "new", tmp_path / "out", figures=False)
    tables = {table.name: table for table in made.tables}
    assert set(tables) == {"settings", "push,hammer-returns", "single-tasks"}
    assert [row.heading for row in tables["push,hammer-returns"].rows] == [
        "old: RECALL",
        "new: RECALL",
    ]
    (push,) = tables["single-tasks"].rows
    assert [push.cells[at].ours.value for at in (0, 2)] == pytest.approx([0.2, 0.6])


def test_curves_of_two_folders_lie_on_one_another(tmp_path):
    for name in ("one", "two"):
        write_fleet(tmp_path / name, "recall", "push,hammer", (0,))
    made = compare(tmp_path / "one", tmp_path / "two", tmp_path / "out")
    assert {each.kind for each in made.figures} >= {"average_success", "seeds", "profiles"}
    figure = drawn(Scene(made.collection), "average_success").figure
    assert legend(figure) == ["one: RECALL", "two: RECALL"]
    assert len({line.get_color() for line in figure.legends[0].get_lines()}) == 2


def test_forward_transfer_is_compared_or_said_to_be_left_out(tmp_path, capsys):
    """Areas of 0.2 and 0.6, and of 0.5 alone: transfers of -0.6 and 0.2, as (0.6 - 0.5) / 0.5."""
    for name, success in (("old", 0.2), ("new", 0.6)):
        write_fleet(tmp_path / name, "recall", "push,hammer", (0, 1), level(success, success))
    folders = [tmp_path / "old", tmp_path / "new", tmp_path / "out"]
    _, left_out = compare(*folders, figures=False).tables
    assert [row.heading for row in left_out.rows] == ["average performance", "forgetting"]
    (advice,) = left_out.advice
    assert advice.startswith("Forward transfer of old: RECALL, new: RECALL is left out: there is")
    write_fleet(tmp_path / "alone", sequence=["push", "hammer"], success=level(0.5, 0.5))
    for reference in (tmp_path / "alone", [tmp_path / "alone"]):
        _, table = compare(*folders, reference, figures=False).tables
        values = [cell.ours.value for cell in table.rows[-1].cells]
        assert table.rows[-1].heading == "forward transfer"
        assert values == pytest.approx([-0.6, 0.2, 0.8])
        assert not table.advice
    write_fleet(tmp_path / "long", "recall", "push,hammer", (0, 1), level(0.2, 0.2),
                steps_per_task=2_000)  # fmt: skip
    _, one_sided = compare(folders[1], tmp_path / "long", folders[2], tmp_path / "alone",
                           figures=False).tables  # fmt: skip
    ours, theirs, difference = one_sided.rows[-1].cells
    assert ours.ours.value == pytest.approx(0.2)
    assert theirs.ours is None is difference.ours
    assert any("Forward transfer of long: RECALL is left out" in text for text in one_sided.advice)
    main(["compare", *map(str, folders[:2]), "--reference", str(tmp_path / "alone"), "--out",
          str(tmp_path / "out"), "--no-figures"])  # fmt: skip
    assert "forward transfer" in capsys.readouterr().out


def test_references_in_either_folder_serve_both(tmp_path):
    for name, success in (("old", 0.2), ("new", 0.6)):
        write_fleet(tmp_path / name / "runs", "recall", "push,hammer", (0,), level(success))
    write_fleet(tmp_path / "new" / "alone", sequence=["push", "hammer"], seeds=(0,),
                success=level(0.5))  # fmt: skip
    made = compare(tmp_path / "old", tmp_path / "new", tmp_path / "out", figures=False)
    table = {each.name: each for each in made.tables}["compare-recall-push,hammer"]
    assert [cell.ours.value for cell in table.rows[-1].cells] == pytest.approx([-0.6, 0.2, 0.8])


def test_folders_with_nothing_in_common_are_refused(tmp_path):
    write_fleet(tmp_path / "a", "recall", "push,hammer")
    write_fleet(tmp_path / "b", "ewc", "push,hammer")
    write_fleet(tmp_path / "c", "recall", "hammer,push")
    report = f"`recall report {tmp_path / 'a'} {tmp_path / 'b'}` shows both, with the differences"
    with pytest.raises(BadValueError, match=f"a has RECALL and .*b has EWC: .*{report} between me"):
        compare(tmp_path / "a", tmp_path / "b", tmp_path / "out")
    with pytest.raises(BadValueError, match=r"sequence in common: .*recall report .* shows both$"):
        compare(tmp_path / "a", tmp_path / "c", tmp_path / "out")
    with pytest.raises(BadValueError, match="no runs to compare"):
        compare(tmp_path / "a", tmp_path / "missing", tmp_path / "out")


def test_a_window_without_evaluations_is_refused(tmp_path, capsys):
    folder = str(write_fleet(tmp_path / "a", "recall", "push,hammer"))
    with pytest.raises(SystemExit):
        main(["compare", folder, folder, "--window", "0", "--out", str(tmp_path / "out")])
    assert capsys.readouterr().err.startswith("recall: window 0: ")
    assert not (tmp_path / "out").exists()


def test_paired_differences_are_narrower_than_the_spread_of_seeds(tmp_path):
    """Seeds differ a lot, but in every one of them RECALL is better by 0.1."""
    seeds = range(5)
    write_fleet(tmp_path / "a", "recall", "push,hammer", seeds, level(0.2, 0.9, 0.4, 0.6, 0.5))
    write_fleet(tmp_path / "b", "ewc", "push,hammer", seeds, level(0.1, 0.8, 0.3, 0.5, 0.4))
    board = ScoreBoard(gather(tmp_path))
    pair = board.get("RECALL", "push,hammer"), board.get("EWC", "push,hammer")
    found = paired_difference([pair], PERFORMANCE)
    assert (found.value, *found.interval) == pytest.approx((0.1, 0.1, 0.1))
    assert paired_difference([pair], FORGETTING).value == 0.0
    table = {each.name: each for each in all_tables(board)}["push,hammer-differences"]
    column = table.columns.index("EWC")
    row = next(row for row in table.rows if row.heading == "RECALL")
    assert row.cells[column].ours.value == pytest.approx(0.1)
    assert paired_difference([], PERFORMANCE) is None


def test_differences_have_the_t_interval_of_the_seeds_means_over_sequences(tmp_path):
    seeds = range(3)
    write_fleet(tmp_path / "a", "recall", "cw3-1", seeds, level(0.5, 0.6, 0.7))
    write_fleet(tmp_path / "b", "recall", "cw3-2", seeds, level(0.9, 0.6, 0.9))
    for sequence in ("cw3-1", "cw3-2"):
        write_fleet(tmp_path / f"ewc-{sequence}", "ewc", sequence, seeds, level(0.4, 0.4, 0.4))
    # By seed 0.3, 0.2 and 0.4: a standard error of 0.1 / sqrt(3), and t is 2.91999 at 95 %.
    table = tables_of(tmp_path)["cw3-average_performance-differences"]
    found = cell_of(table, "RECALL", "EWC")
    side = 2.91999 * 0.1 / 3**0.5
    assert found.ours.value == pytest.approx(0.3)
    assert found.ours.interval == pytest.approx((0.3 - side, 0.3 + side), abs=1e-5)
    assert found.runs == 3
    assert cell_of(table, "EWC", "RECALL").ours.value == pytest.approx(-0.3)


def test_a_difference_and_its_interval_are_of_the_seeds_that_all_sequences_have():
    few = mean_difference([{0: 0.1, 1: 0.2, 2: 0.9}, {0: 0.3, 1: 0.4}])
    # Means by seed 0.2 and 0.3: a standard error of 0.05, and t is 6.3138 at 95 %.
    assert few.value == pytest.approx(0.25)
    assert few.interval[1] - few.value == pytest.approx(6.3138 * 0.05, abs=1e-4)
    assert mean_difference([{0: 0.1, 1: 0.2}, {1: 0.3, 2: 0.4}]) == (pytest.approx(0.25), None)


def test_a_seed_that_failed_on_one_sequence_does_not_decide(tmp_path):
    """Both are equal in every seed that they have on both sequences."""
    both, seeds = ["cw3-1", "cw3-2"], range(3)
    write_fleet(tmp_path / "a", "recall", both, seeds, level(0.5, 0.5, 0.9))
    failed = {"ewc-cw3-2-seed2": 500}
    write_fleet(tmp_path / "b", "ewc", both, seeds, level(0.5, 0.5, 0.3), failed=failed)
    table = tables_of(tmp_path)["cw3-average_performance-differences"]
    assert cell_of(table, "RECALL", "EWC").ours == (0.0, (0.0, 0.0))
    (verdict,) = verdicts(ScoreBoard(gather(tmp_path)))
    assert "cannot be told from it" in verdict.sentences[0]


def test_a_single_seed_has_a_difference_without_an_interval(tmp_path):
    write_fleet(tmp_path / "a", "recall", "push,hammer", (0,), level(0.5))
    write_fleet(tmp_path / "b", "ewc", "push,hammer", (0,), level(0.4))
    found = cell_of(tables_of(tmp_path)["push,hammer-differences"], "RECALL", "EWC")
    assert found.ours == (pytest.approx(0.1), None)


def test_folders_are_compared_over_all_sequences(tmp_path):
    for name, successes in (("old", (0.2, 0.4)), ("new", (0.5, 0.5))):
        for number, success in enumerate(successes, start=1):
            write_fleet(tmp_path / name / str(number), "recall", f"cw3-{number}", (0, 1),
                        level(success, success))  # fmt: skip
    made = compare(tmp_path / "old", tmp_path / "new", tmp_path / "out", figures=False)
    tables = {table.name: table for table in made.tables}
    names = ["settings", "compare-recall-all", "compare-recall-cw3-1", "compare-recall-cw3-2"]
    assert list(tables) == names
    over_all, first, second = (
        [cell.ours.value for cell in tables[name].rows[0].cells] for name in names[1:]
    )
    assert over_all == pytest.approx([0.3, 0.5, 0.2])
    assert (first, second) == (pytest.approx([0.2, 0.5, 0.3]), pytest.approx([0.4, 0.5, 0.1]))


def test_methods_are_chosen_ordered_and_renamed(tmp_path):
    for method in ("fine_tuning", "ewc", "recall"):
        write_fleet(tmp_path / method, method, "cw3-1")
    made = recall.make_report(
        tmp_path, tmp_path / "out", figures=False, methods=("recall", "Fine-tuning"),
        names={"RECALL": "Ours"},
    )  # fmt: skip
    table = {each.name: each for each in made.tables}["cw3-average_performance"]
    assert table.columns[:2] == ("Ours", "Fine-tuning")
    assert made.collection.labels == ["Ours", "Fine-tuning"]
    with pytest.raises(UnknownNameError, match="EWC"):
        arranged(gather(tmp_path), ["ewcc"])
    with pytest.raises(BadValueError, match="already has this name"):
        arranged(gather(tmp_path), names={"EWC": "RECALL"})
    with pytest.raises(BadValueError, match="LABEL=NAME"):
        names_from(["RECALL"])
    assert names_from(["EWC=a=b"]) == {"EWC": "a=b"}


def test_the_name_of_a_method_renames_its_part_of_every_label(tmp_path):
    write_fleet(tmp_path / "quick", "recall", "push,hammer", preset="quick")
    write_fleet(tmp_path / "light", "recall", "push,hammer", distillation_weight=0.1)
    write_fleet(tmp_path / "ewc", "ewc", "push,hammer")
    found = gather(tmp_path)
    assert found.labels == ["EWC", "RECALL, preset quick", "RECALL, λ 0.1"]

    def renamed(**names):
        return arranged(found, names=names).labels

    for name in ("RECALL", "recall"):
        assert renamed(**{name: "Ours"}) == ["EWC", "Ours, preset quick", "Ours, λ 0.1"]
    quick = {"RECALL, preset quick": "Small"}
    assert renamed(RECALL="Ours", **quick) == ["EWC", "Small", "Ours, λ 0.1"]
    assert renamed(**quick) == ["EWC", "Small", "RECALL, λ 0.1"]
    assert renamed(EWC="RECALL", RECALL="EWC") == [
        "RECALL", "EWC, preset quick", "EWC, λ 0.1"
    ]  # fmt: skip
    for names in ({"RECALL": "EWC"}, quick | {"RECALL, λ 0.1": "Small"}):
        with pytest.raises(BadValueError, match="another method already has this name"):
            renamed(**names)
    with pytest.raises(UnknownNameError, match="unknown method of this report 'RECAL'"):
        renamed(RECAL="Ours")
