"""The tables: which there are, what stands in them, what is bold, and what is noted."""

import json

import pytest

from recall.analysis.bootstrap import Estimate
from recall.analysis.collection import gather
from recall.analysis.measures import Measure
from recall.analysis.scores import ScoreBoard
from recall.methods.recall import Recall
from recall.report import paper
from recall.report.tables.cells import with_best_bold
from recall.report.tables.computation import added_losses
from recall.report.tables.storage import stored
from recall.report.tables.table import Cell, Table
from recall.runs.benches import read_benches
from tests.factories import tables
from tests.factories.folders import STEPS, write_fleet, write_log
from tests.factories.tables import cell_of

CW3 = [f"cw3-{number}" for number in range(1, 9)]
# A stage has four evaluations: one is looked at, so that numbers can be worked out by hand.
LAST = Measure(window=1)


def tables_of(folder, benches=()) -> dict[str, Table]:
    return tables.tables_of(folder, benches, LAST)


def forgets(seed, position, step):
    """Learns each task fully and keeps 0.1 of it, 0.2 with the other seed, after its stage."""
    over = step > (position + 1) * STEPS
    return 0.1 * (1 + seed) if over else float(step > position * STEPS)


def test_cw3_by_hand_beside_the_paper(tmp_path):
    write_fleet(tmp_path / "a", "recall", CW3[:2])
    write_fleet(tmp_path / "b", "fine_tuning", CW3[:2], success=forgets)
    tables = tables_of(tmp_path)
    performance = tables["cw3-average_performance"]
    assert performance.columns == ("Fine-tuning", "EWC", "PackNet", "ClonEx", "PM", "RECALL")
    assert [row.heading for row in performance.rows] == ["1", "1 (paper)", "2", "2 (paper)"]
    ours = cell_of(performance, "1", "RECALL")
    assert ours.ours == (1.0, (1.0, 1.0))
    assert ours.paper is None
    assert (ours.bold, ours.runs) == (True, 2)
    assert cell_of(performance, "1 (paper)", "RECALL") == Cell(paper=Estimate(0.9, (0.88, 0.92)))
    worse = cell_of(performance, "1", "Fine-tuning")
    # Seeds end with (0.1 + 0.1 + 1) / 3 and (0.2 + 0.2 + 1) / 3.
    assert worse.ours.value == pytest.approx((0.4 + 1.4 / 3) / 2)
    assert worse.ours.interval == pytest.approx((0.4, 1.4 / 3))
    assert not worse.bold
    forgetting = cell_of(tables["cw3-forgetting"], "2", "Fine-tuning")
    assert forgetting.ours.value == pytest.approx((2 * 0.9 / 3 + 2 * 0.8 / 3) / 2)
    assert cell_of(performance, "1 (paper)", "EWC").paper == (0.71, (0.56, 0.85))
    assert "2 runs, 1,000 steps per task. Values at the end" in performance.notes[0]
    told = " ".join(performance.notes)
    assert "(paper): the paper's own numbers, 5 runs of 1,000,000 steps per task" in told
    assert "Settings that are not the paper's: " in told
    assert "noise colour 1, random tails 0.1, policy lag 1" in told
    assert "cw3-forward_transfer" not in tables


def test_the_papers_numbers_stand_beside_the_papers_settings_only(tmp_path):
    per_task = {"steps_per_task": 1_000_000, "evaluate_every": 500_000}
    write_fleet(tmp_path / "as", "recall", "cw3-1", preset="paper", **per_task)
    write_fleet(tmp_path / "short", "ewc", "cw3-1", preset="paper")
    write_fleet(tmp_path / "without", "clonex", "cw3-1", weight=0.5, **per_task)
    table = tables_of(tmp_path)["cw3-average_performance"]
    assert cell_of(table, "1", "RECALL, preset paper").paper == (0.9, (0.88, 0.92))
    assert cell_of(table, "1 (paper)", "RECALL, preset paper") == Cell()
    short = "EWC, preset paper, 1,000 steps per task"
    assert cell_of(table, "1", short).paper is None
    assert cell_of(table, "1 (paper)", "EWC").paper.value == 0.71
    assert cell_of(table, "1", "ClonEx, λ 0.5").paper is None
    assert cell_of(table, "1", "ClonEx").ours is None
    write_fleet(
        tmp_path / "half", "packnet", "cw3-1", preset="paper", precision="bfloat16", **per_task
    )
    write_fleet(
        tmp_path / "pink", "perfect_memory", "cw3-1", preset="paper", noise_colour=1.0, **per_task
    )
    table = tables_of(tmp_path)["cw3-average_performance"]
    assert cell_of(table, "1", "PackNet, preset paper").paper is None
    assert cell_of(table, "1", "PM, preset paper").paper is None
    assert "Settings that are not the paper's: noise colour 1 in PM, preset paper." in table.notes


def test_the_mean_over_all_eight_has_an_interval_over_seeds(tmp_path):
    write_fleet(tmp_path / "a", "recall", CW3, success=forgets)
    table = tables_of(tmp_path)["cw3-average_performance"]
    mean = cell_of(table, "mean", "RECALL")
    assert mean.ours.value == pytest.approx((0.4 + 1.4 / 3) / 2)
    # Seed 0 is low on all eight sequences: eight sequences tell no more of it than one does.
    assert mean.ours.interval == pytest.approx((0.4, 1.4 / 3))
    assert mean.runs == 16
    assert cell_of(table, "mean (paper)", "RECALL").paper == (0.92, None)


def test_transfer_is_there_with_references_and_says_what_to_run_without(tmp_path):
    write_fleet(tmp_path / "a", "recall", "push,hammer")
    table = tables_of(tmp_path)["push,hammer"]
    assert "forward transfer" not in table.columns
    command = (
        "`recall train --method fine_tuning --sequence push hammer --seeds 0 1 --steps-per-task "
        "1000 --evaluate-every 250`"
    )
    assert any(command in note for note in table.advice)
    write_fleet(tmp_path / "b", sequence=["push", "hammer"], success=lambda *_: 0.5)
    tables = tables_of(tmp_path)
    found = cell_of(tables["push,hammer"], "RECALL", "forward transfer").ours
    # Own areas are (0.25 + 0.5 + 0.75 + 1) / 4 = 0.625: (0.625 - 0.5) / 0.5.
    assert (found.value, *found.interval) == pytest.approx((0.25, 0.25, 0.25))
    assert cell_of(tables["push,hammer-transfer"], "RECALL", "2 hammer").ours.value == 0.25
    alone = tables["single-tasks"]
    assert cell_of(alone, "push", "area under the curve").ours.value == 0.5


def test_tasks_that_are_not_continual_worlds_are_named_in_the_advice(tmp_path):
    write_fleet(tmp_path / "a", "recall", "point-rich,point-poor", steps_per_task=1_000_000,
                evaluate_every=500_000)  # fmt: skip
    (advice,) = tables_of(tmp_path)["point-rich,point-poor"].advice
    assert "--sequence point-rich point-poor --seeds 0 1 --evaluate-every 500000`" in advice


def test_cw10_and_cw20_stand_side_by_side(tmp_path):
    write_fleet(tmp_path / "a", "recall", "cw10", seeds=(0,))
    write_fleet(tmp_path / "b", "packnet", "cw20", seeds=(0,))
    table = tables_of(tmp_path)["cw10-cw20"]
    assert cell_of(table, "RECALL", "CW10 average performance").ours == (1.0, None)
    assert cell_of(table, "RECALL (paper)", "CW20 forgetting").paper == (-0.04, (-0.05, -0.03))
    assert cell_of(table, "PackNet", "CW20 average performance").ours == (1.0, None)
    assert cell_of(table, "PackNet", "CW10 average performance").ours is None


def test_weights_of_the_distillation(tmp_path):
    for weight in (0.1, 10.0, 100.0):
        write_fleet(tmp_path / f"{weight}", "recall", "cw6-1", distillation_weight=weight)
    tables = tables_of(tmp_path)
    table = tables["lambda-cw6-1"]
    assert [row.heading for row in table.rows] == [
        "0.1", "0.1 (paper)", "10", "10 (paper)", "100", "100 (paper)"
    ]  # fmt: skip
    assert cell_of(table, "100 (paper)", "average performance").paper == (0.88, (0.86, 0.89))
    assert tables["cw6-average_performance"].columns[-1] == "RECALL"


def test_shared_and_separate_networks(tmp_path):
    for number, (actor, critic) in enumerate(
        (("shallow", "shallow"), ("separate", "shallow"), ("shallow", "separate"))
    ):
        write_fleet(tmp_path / f"{number}", "perfect_memory", "pair-5-8",
                    actor_heads=actor, critic_heads=critic)  # fmt: skip
    table = tables_of(tmp_path)["sharing-pair-5-8"]
    assert [row.heading for row in table.rows if "(paper)" not in row.heading] == [
        "shared actor, shared critic",
        "unshared actor, shared critic",
        "shared actor, unshared critic",
    ]
    assert cell_of(table, "shared actor, unshared critic", "second task").ours.value == 1.0
    theirs = cell_of(table, "shared actor, unshared critic (paper)", "second task")
    assert theirs.paper.value == 0.93


def test_deep_heads_are_not_the_papers_shared_networks(tmp_path):
    for heads in ("deep", "shallow"):
        write_fleet(tmp_path / heads, "perfect_memory", "pair-5-8", critic_heads=heads)
    table = tables_of(tmp_path)["sharing-pair-5-8"]
    assert [row.heading for row in table.rows] == [
        "shared actor, shared critic",
        "shared actor, shared critic (paper)",
        "shared actor, critic with deep heads",
    ]
    assert cell_of(table, "shared actor, critic with deep heads", "first task").paper is None


def test_the_table_of_replay_modes_compares_offline_and_online_with_the_paper(tmp_path):
    pairs = ["pair-1-3", "pair-2-2"]
    write_fleet(tmp_path / "a", "perfect_memory", pairs, success=forgets)
    write_fleet(tmp_path / "b", "perfect_memory", pairs, replay_mode="online")
    table = tables_of(tmp_path)["replay-mode"]
    assert [row.heading for row in table.rows] == ["1-3", "1-3 (paper)", "2-2", "2-2 (paper)"]
    offline = cell_of(table, "1-3", "offline forgetting")
    assert offline.ours.value == pytest.approx(0.85)
    assert cell_of(table, "1-3 (paper)", "offline forgetting").paper.value == 0.14
    online = cell_of(table, "1-3", "online forgetting")
    assert (online.ours.value, online.bold, offline.bold) == (0.0, True, False)


def test_variants_are_compared_on_the_sequences_they_share(tmp_path):
    write_fleet(tmp_path / "a", "recall", CW3[:3])
    write_fleet(tmp_path / "b", "recall", CW3[:2], distil=False, success=forgets)
    tables = tables_of(tmp_path)
    table = tables["variants-RECALL-cw3-1-2"]
    assert [row.heading for row in table.rows] == ["RECALL", "no distillation"]
    assert cell_of(table, "RECALL", "average performance").runs == 4
    assert tables["cw3-average_performance"].columns.count("RECALL") == 1
    assert "RECALL, no distillation" not in tables["cw3-average_performance"].columns


def test_others_logs_stand_in_the_same_table(tmp_path):
    write_log(tmp_path / "theirs", ["push-v1", "window-close-v1", "hammer-v1"], cl_method="ewc")
    write_fleet(tmp_path / "ours", "ewc", "cw3-1", seeds=(0,))
    table = tables_of(tmp_path)["cw3-average_performance"]
    assert cell_of(table, "1", "EWC, imported").ours.value == 1.0
    assert cell_of(table, "1", "EWC, imported").paper is None
    assert cell_of(table, "1 (paper)", "EWC").paper.value == 0.71


def test_the_papers_row_stays_beside_others_logs(tmp_path):
    write_log(tmp_path / "theirs", ["push-v1", "window-close-v1", "hammer-v1"], cl_method="ewc")
    table = tables_of(tmp_path)["cw3-average_performance"]
    assert cell_of(table, "1", "EWC, imported").ours.value == 1.0
    assert cell_of(table, "1 (paper)", "EWC").paper.value == 0.71


def test_a_schedule_that_is_not_the_presets_is_noted(tmp_path):
    write_fleet(tmp_path / "a", "recall", "cw3-1", distillation_weight=0.1, random_steps=70)
    notes = tables_of(tmp_path)["cw3-average_performance"].notes
    assert "Not the preset's: random steps 70 in RECALL, λ 0.1." in notes


def test_who_improves_on_whom(tmp_path):
    write_fleet(tmp_path / "a", "recall", "push,hammer")
    write_fleet(tmp_path / "b", "ewc", "push,hammer", success=forgets)
    table = tables_of(tmp_path)["push,hammer-improvement"]
    assert table.detail
    assert cell_of(table, "RECALL", "EWC").ours == (1.0, (1.0, 1.0))
    assert cell_of(table, "EWC", "RECALL").ours.value == 0.0
    assert cell_of(table, "EWC", "EWC").text == ""


def test_tasks_learnt_together_forget_nothing_and_transfer_nothing(tmp_path):
    write_fleet(tmp_path / "a", "multi_task", "push,hammer")
    write_fleet(tmp_path / "b", sequence=["push", "hammer"], success=lambda *_: 0.5)
    (scores,) = ScoreBoard(gather(tmp_path)).scores.values()
    assert scores.forgetting is None
    assert scores.forward_transfer is None


def test_storage_follows_from_the_settings(tmp_path):
    write_fleet(tmp_path / "a", "recall", "cw3-1", seeds=(0,))
    write_fleet(tmp_path / "b", "clonex", "cw3-1", seeds=(0,), memory_per_task=100)
    write_fleet(tmp_path / "d", "recall", "cw3-1", seeds=(0,), distil=False)
    write_fleet(tmp_path / "c", "ewc", "cw3-1", seeds=(0,), replay_capacity=500)
    found = gather(tmp_path)
    assert {run.method: stored(run) for run in found.runs} == {
        "recall": (STEPS, 2 * STEPS),
        "clonex": (STEPS, 200),
        "ewc": (500, 0),
    }
    tables = tables_of(tmp_path)
    assert cell_of(tables["storage"], "RECALL", "of old tasks").text == "2,000 (N = 3)"
    assert (
        cell_of(tables["storage"], "ClonEx, memory per task 100", "the paper's D_old").text
        == "N 10^4"
    )
    assert any("recall bench learner --json" in note for note in tables["computation"].advice)
    losses = {row.heading: row.cells[0].text for row in tables["computation"].rows}
    assert losses["EWC"].startswith("weight consolidation (λ ")
    assert losses["RECALL"] == "policy distillation (λ 10), old critics' values as targets"
    assert losses["RECALL, no distillation"] == "\N{EN DASH}"


@pytest.mark.parametrize("distil", [True, False])
@pytest.mark.parametrize("critics", [True, False])
@pytest.mark.parametrize("sampling", ["balanced", "uniform", "new"])
def test_old_critics_values_are_told_where_the_method_uses_them(
    tmp_path, distil, critics, sampling
):
    settings = {"distil": distil, "distil_critics": critics, "sampling": sampling}
    write_fleet(tmp_path / "a", "recall", seeds=(0,), **settings)
    (run,) = gather(tmp_path).runs
    told = added_losses(run)
    assert ("old critics' values as targets" in told) == Recall(**settings).distils_critics
    # New rows have no stored policy to distil.
    assert any("policy distillation" in term for term in told) == (distil and sampling != "new")


def test_benches_beside_the_runs_are_shown(tmp_path):
    write_fleet(tmp_path / "a", "recall", "cw3-1", seeds=(0,))
    rows = [
        {"method": method, "runs": runs, "ms_per_update": time}
        for method, runs, time in (("recall", 1, 0.5), ("recall", 5, 0.75), ("ewc", 1, 0.25))
    ]
    bench = {"device": "H200", "precision": "default", "rows": rows}
    (tmp_path / "bench-learner.json").write_text(json.dumps(bench))
    (tmp_path / "other.json").write_text('{"rows": [1]}')
    (tmp_path / "torn.json").write_text('{"rows": [')
    found = read_benches([tmp_path])
    assert found == [bench]
    tables = tables_of(tmp_path, found)
    table = tables["updates-H200-default"]
    assert cell_of(table, "RECALL", "5 runs").ours == (0.75, None)
    assert cell_of(table, "EWC", "5 runs").ours is None
    assert not tables["computation"].advice


@pytest.mark.parametrize(
    ("values", "lower", "bold"),
    [
        ([(0.9, (0.88, 0.92)), (0.84, (0.77, 0.91)), (0.7, (0.6, 0.82))], False, [1, 1, 0]),
        ([(0.9, (0.88, 0.92)), (0.8, (0.7, 0.87))], False, [1, 0]),
        ([(0.9, (0.88, 0.92)), (0.8, (0.7, 0.88))], False, [1, 1]),
        ([(-0.01, (-0.02, 0.0)), (0.0, (0.0, 0.0))], True, [1, 1]),
        ([(0.1, (0.0, 0.2)), (-0.1, (-0.2, 0.1))], True, [1, 1]),
        ([(0.1, (0.05, 0.2)), (-0.1, (-0.2, 0.0))], True, [0, 1]),
        ([(0.5, None), (0.5, None), (0.4, None)], False, [1, 1, 0]),
        ([(0.5, None)], False, [0]),
        # Of equal values the one that is known best decides, whichever comes first.
        ([(1.0, (0.88, 1.0)), (1.0, (1.0, 1.0)), (0.5, (0.2, 0.9))], False, [1, 1, 0]),
        ([(1.0, (1.0, 1.0)), (1.0, (0.88, 1.0)), (0.5, (0.2, 0.9))], False, [1, 1, 0]),
    ],
)
def test_the_best_within_the_interval_is_bold(values, lower, bold):
    cells = [Cell(Estimate(*value)) for value in values]
    found = with_best_bold([*cells, Cell()], lower)
    assert [cell.bold for cell in found] == [*map(bool, bold), False]


def test_the_papers_numbers_are_found_by_sequence_family_and_setting():
    assert paper.on_sequence("cw3-8", "forgetting", "recall") == (-0.06, (-0.09, -0.03))
    assert paper.on_sequence("cw20", "forward_transfer", "perfect_memory").value == -1.36
    assert paper.over_family("cw6", "average_performance", "recall") == (0.94, None)
    assert paper.with_weight("cw6-1", 1.0, "forgetting").value == -0.01
    assert paper.with_weight("cw6-2", 1.0, "forgetting") is None
    assert paper.with_sharing(True, False, 1).value == 0.93
    assert paper.with_replay_mode("pair-8-6", "online", "forgetting").value == -0.03
    assert paper.over_pairs("recall", "second_task").value == 0.85
    assert paper.on_sequence("cw3-1", "forgetting", "vcl") is None
    assert "Replay-enhanced Continual Reinforcement Learning" in paper.published()["source"]
