"""The tidy tables: every evaluation and every run, once, as CSV, Parquet and DataFrame."""

import csv
import json

import pytest

import recall.analysis
from recall.analysis import tidy
from recall.analysis.collection import gather
from recall.analysis.scores import ScoreBoard
from recall.errors import BadValueError, UnknownNameError
from tests.factories.folders import write_fleet

pandas = pytest.importorskip("pandas", reason="pandas is not installed")


@pytest.fixture
def folder(tmp_path):
    write_fleet(tmp_path / "a", "recall", "push,hammer", distil=False)
    write_fleet(tmp_path / "b", "ewc", "push,hammer", seeds=(0,), finished=False, until=500)
    return tmp_path


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


def test_every_run_has_its_metrics_and_settings(folder):
    frame = recall.frame(folder, "runs").set_index(["method", "seed"])
    assert len(frame) == 3
    assert frame.loc[("recall", 1), "average_performance"] == 1.0
    assert frame.loc[("recall", 1), "forgetting"] == 0.0
    assert frame.loc[("recall", 0), "method.distil"] == False  # noqa: E712
    assert pandas.isna(frame.loc[("ewc", 0), "average_performance"])
    assert frame.loc[("ewc", 0), "steps"] == 500
    assert frame.loc[("recall", 0), "learner.network.hidden"] == "256 256 256 256"
    with pytest.raises(UnknownNameError, match="runs"):
        recall.frame(folder, "run")
    with pytest.raises(BadValueError, match=r"there is no folder .*nowhere"):
        recall.frame(folder / "nowhere")


def test_every_stage_has_the_success_on_all_tasks_at_its_end(folder):
    frame = recall.frame(folder, "stages")
    assert set(frame["method"]) == {"recall"}  # the other run has not finished a stage
    one = frame.query("seed == 1").set_index(["trained", "task"])["success"]
    assert one.to_dict() == {
        ("push", "push"): 1.0, ("push", "hammer"): 0.0, ("hammer", "push"): 1.0,
        ("hammer", "hammer"): 1.0,
    }  # fmt: skip
    assert list(frame.query("seed == 0")["stage"]) == [0, 0, 1, 1]


def test_files_hold_the_same(folder, tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    board = ScoreBoard(gather(folder))
    written = tidy.write_tables(board, tmp_path / "data")
    assert [path.name for path in written] == [
        "evaluations.csv", "evaluations.parquet", "stages.csv", "stages.parquet", "runs.csv",
        "runs.parquet",
    ]  # fmt: skip
    frame = recall.frame(folder)
    stored = pandas.read_parquet(tmp_path / "data" / "evaluations.parquet")
    assert stored.to_dict("list") == frame.to_dict("list")
    with (tmp_path / "data" / "evaluations.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["success"]) for row in rows] == frame["success"].tolist()
    runs = pandas.read_csv(tmp_path / "data" / "runs.csv")
    assert runs["forward_transfer"].isna().all()


def test_success_that_is_not_known_is_missing(tmp_path):
    folder = write_fleet(tmp_path / "a", "recall", "push,hammer", success=lambda *_: 0.0)
    path = folder / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"without_success": ["hammer"]}))
    frame = recall.frame(folder)
    assert frame.query("task == 'hammer'")["success"].isna().all()
    assert (frame.query("task == 'push'")["success"] == 0.0).all()
    assert frame["return"].notna().all()
