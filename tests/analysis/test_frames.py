"""The tidy frames: scores of complete runs, and every evaluation, stage and run once."""

import json

import numpy as np
import pandas as pd
import pytest

import recall
from recall.analysis.collection import Collection, gather
from recall.analysis.estimates import estimate
from recall.analysis.frames import analyse, list_of, matrix, select, write_data
from recall.analysis.metrics import TRANSFER
from recall.errors import BadValueError, UnknownNameError
from tests.factories.folders import write_fleet
from tests.factories.runs import made_run


@pytest.fixture
def folder(tmp_path):
    write_fleet(tmp_path / "a", "recall", "push,hammer", distil=False)
    write_fleet(tmp_path / "b", "ewc", "push,hammer", seeds=(0,), finished=False, until=500)
    return tmp_path


def test_scores_have_a_row_for_each_complete_run_and_task(folder):
    write_fleet(folder / "c", "fine_tuning", [["push"], ["hammer"]], success=lambda *_: 0.5)
    scores = analyse(gather(folder)).scores
    assert list_of(scores, "label") == ["RECALL, no distillation"]
    assert scores[["seed", "position", "task"]].to_numpy().tolist() == [
        [0, 0, "push"], [0, 1, "hammer"], [1, 0, "push"], [1, 1, "hammer"]
    ]  # fmt: skip
    # A stage has 0.25, 0.5, 0.75 and 1; alone, each task has 0.5 all the time.
    for name, value in (("final", 1.0), ("forgotten", 0.0), ("area", 0.625), ("transfer", 0.25)):
        assert scores[name].tolist() == [value] * 4
    assert scores["alone"].tolist() == [(0.5, 0.5)] * 4
    assert matrix(scores, "final").shape == (2, 2)
    assert select(scores, position=1, seed=[0, 1])["task"].tolist() == ["hammer", "hammer"]


def test_transfer_needs_references_of_every_task_and_room_to_gain(tmp_path):
    write_fleet(tmp_path / "a", "recall", "push,hammer,window-close")
    write_fleet(tmp_path / "b", "fine_tuning", "push", success=lambda *_: 1.0)
    write_fleet(tmp_path / "c", "fine_tuning", "hammer", success=lambda *_: 0.5)
    scores = analyse(gather(tmp_path)).scores
    assert scores["transfer"].isna().all()
    assert scores.groupby("task")["reference"].first()["push"] == 1.0
    write_fleet(tmp_path / "d", "fine_tuning", "window-close", success=lambda *_: 0.0)
    scores = analyse(gather(tmp_path)).scores
    assert estimate(scores, TRANSFER).value == (0.25 + 0.625) / 2
    transfer = scores.groupby("task")["transfer"].mean()
    assert transfer["hammer"] == 0.25
    assert transfer["window-close"] == 0.625
    assert np.isnan(transfer["push"])  # nothing is to gain


def test_tasks_learned_together_have_no_stages(tmp_path):
    write_fleet(tmp_path / "a", "multi_task", "push,hammer")
    write_fleet(tmp_path / "b", sequence=[["push"], ["hammer"]], success=lambda *_: 0.5)
    scores = analyse(gather(tmp_path)).scores
    assert scores["final"].notna().all()
    assert scores[["trained", "forgotten", "area", "transfer"]].isna().all(axis=None)


def test_a_label_draws_from_the_same_seeds_on_all_sequences():
    runs = [made_run("recall", "push,hammer", seed) for seed in range(3)]
    runs += [made_run("recall", "push,window-close", seed) for seed in (0, 4)]
    scores = analyse(Collection(tuple(runs))).scores
    assert set(scores["seeds"]) == {(0, 1, 2, 4)}


def test_every_line_of_the_records_is_a_row(folder):
    frame = recall.frame(folder)
    lines = [
        json.loads(line)
        for name in ("a", "b")
        for line in (folder / name / "evaluations.jsonl").read_text().splitlines()
    ]
    assert len(frame) == len(lines)
    assert set(frame["label"]) == {"RECALL, no distillation", "EWC"}
    for name in ("success", "return", "last_success", "step", "position"):
        assert sorted(frame[name]) == pytest.approx(sorted(line[name] for line in lines))
    one = frame.query("seed == 1 and step == 1250 and task == 'hammer' and mode == 'stochastic'")
    assert one[["position", "success", "return"]].to_numpy().tolist() == [[1, 0.25, 10.0]]
    write_data(analyse(gather(folder)), folder / "data")
    written = pd.read_csv(folder / "data" / "evaluations.csv")
    assert written["success"].tolist() == frame["success"].tolist()
    assert len(pd.read_csv(folder / "data" / "runs.csv")) == 3


def test_every_run_has_its_metrics_and_settings(folder):
    frame = recall.frame(folder, "runs").set_index(["method", "seed"])
    assert len(frame) == 3
    assert frame.loc[("recall", 1), "average_performance"] == 1.0
    assert not frame.loc[("recall", 0), "method.distil"]
    assert pd.isna(frame.loc[("ewc", 0), "average_performance"])
    assert frame.loc[("ewc", 0), "steps"] == 500
    assert frame.loc[("recall", 0), "learner.network.hidden"] == "256 256 256 256"
    with pytest.raises(UnknownNameError, match="runs"):
        recall.frame(folder, "run")
    with pytest.raises(BadValueError, match="nowhere"):
        recall.frame(folder / "nowhere")


def test_every_stage_has_the_success_on_all_tasks_at_its_end(folder):
    frame = recall.frame(folder, "stages")
    assert set(frame["method"]) == {"recall"}  # the other run has not finished a stage
    one = frame.query("seed == 1").set_index(["trained", "task"])["success"]
    assert one.to_dict() == {
        ("push", "push"): 1.0, ("push", "hammer"): 0.0, ("hammer", "push"): 1.0,
        ("hammer", "hammer"): 1.0,
    }  # fmt: skip


def test_success_that_is_not_known_is_missing(tmp_path):
    folder = write_fleet(
        tmp_path / "a", "recall", "push,hammer", success=lambda *_: 0.0, silent=["hammer"]
    )
    frame = recall.frame(folder)
    assert frame.query("task == 'hammer'")["success"].isna().all()
    assert (frame.query("task == 'push'")["success"] == 0.0).all()
    assert frame["return"].notna().all()
    assert list_of(analyse(gather(folder)).scores, "task") == ["push"]
