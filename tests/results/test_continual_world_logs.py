"""Logs in Continual World's format, beside ours and alone."""

import numpy as np
import pytest

from recall.results.collection import gather
from recall.results.scores import ScoreBoard
from tests.factories.folders import EVERY, STEPS, write_fleet, write_log


def test_a_log_is_a_run(tmp_path):
    write_log(tmp_path / "1625817178", seed=3, cl_method="ewc")
    found = gather(tmp_path)
    (run,) = found.runs
    assert not found.problems
    assert (run.method, run.label, run.seed) == ("ewc", "EWC, imported", 3)
    assert (run.tasks, run.sequence, run.steps_per_task) == (
        ("push", "hammer"), "pair-6-0", STEPS
    )  # fmt: skip
    assert run.steps.tolist() == list(range(EVERY, 2 * STEPS + 1, EVERY))
    assert run.curves["stochastic", "success"][:, 1].tolist() == [0, 0, 0, 0, 0.25, 0.5, 0.75, 1]
    assert run.curves["deterministic", "return"][0].tolist() == [0.0, 100.0]
    assert np.isnan(run.curves["stochastic", "last_success"]).all()
    assert not run.training


@pytest.mark.parametrize(
    ("config", "method"),
    [
        ({"cl_method": None}, "fine_tuning"),
        ({"cl_method": None, "buffer_type": "reservoir"}, "perfect_memory"),
        ({"cl_method": "packnet"}, "packnet"),
        ({"cl_method": "somebodys"}, "somebodys"),
    ],
)
def test_their_names_of_methods(tmp_path, config, method):
    assert gather(write_log(tmp_path / "a", **config)).runs[0].method == method


def test_their_sequences_have_our_names(tmp_path):
    ten = ("hammer", "push-wall", "faucet-close", "push-back", "stick-pull", "handle-press-side",
           "push", "shelf-place", "window-close", "peg-unplug-side")  # fmt: skip
    write_log(tmp_path / "a", [f"{task}-v2" for task in 2 * ten], 100, 50)
    write_log(tmp_path / "b", ["reach-v1", "push-v1"])
    assert [run.sequence for run in gather(tmp_path).runs] == ["cw20", "reach,push"]


def test_their_runs_are_compared_with_their_single_tasks(tmp_path):
    write_log(tmp_path / "theirs" / "cl", cl_method="ewc")
    write_fleet(tmp_path / "ours", sequence=["push", "hammer"])
    (scores,) = ScoreBoard(gather(tmp_path)).scores.values()
    assert scores.missing_references == ["push", "hammer"]
    for task in ("push", "hammer"):
        write_log(tmp_path / "theirs" / task, [f"{task}-v1"], success=lambda seed, task, step: 0.25)
    (scores,) = ScoreBoard(gather(tmp_path)).scores.values()
    # Each task's own area is (0.25 + 0.5 + 0.75 + 1) / 4 = 0.625: (0.625 - 0.25) / 0.75.
    assert scores.forward_transfer.value == pytest.approx(0.5)
    assert scores.performance.value == pytest.approx((1.0 + 0.625) / 2)
    write_log(tmp_path / "theirs" / "v2", ["push-v2", "hammer-v2"], cl_method="ewc", seed=1)
    assert any(found.missing_references for found in ScoreBoard(gather(tmp_path)).scores.values())


def test_ours_and_theirs_stand_side_by_side(tmp_path):
    write_log(tmp_path / "theirs", cl_method="ewc")
    write_log(tmp_path / "weaker", cl_method="ewc", cl_reg_coef=10.0)
    write_fleet(tmp_path / "ours", "ewc", "pair-6-0", seeds=(0,))
    found = gather(tmp_path)
    assert found.labels == ["EWC", "EWC, imported", "EWC, imported, cl reg coef 10"]
    assert set(found.by_sequence()) == {"pair-6-0"}


def test_bad_logs_are_told(tmp_path):
    write_log(tmp_path / "good")
    write_log(tmp_path / "short", until=STEPS, seed=1)
    torn = write_log(tmp_path / "torn", seed=2)
    with (torn / "progress.tsv").open("a") as file:
        file.write("0.5\t0.1")
    together = write_log(tmp_path / "together", seed=3)
    config = (together / "config.json").read_text().replace('"cl_method"', '"use_popart"')
    (together / "config.json").write_text(config)
    (write_log(tmp_path / "cut", seed=4) / "config.json").write_text('{"seed": ')
    (write_log(tmp_path / "bare", seed=5) / "progress.tsv").write_text("epoch\ttotal_env_steps\n")
    strange = write_log(tmp_path / "strange", seed=6) / "progress.tsv"
    strange.write_text("total_env_steps\n250\n")
    found = gather(tmp_path)
    assert [(run.seed, run.complete) for run in found.runs] == [(0, True), (1, False), (2, True)]
    told = "\n".join(found.problems)
    assert "short ends at step 1,000 of 2,000" in told
    assert "together is a log of tasks learnt together" in told
    assert "cut: the log cannot be read" in told
    assert "bare has no evaluations yet" in told
    assert "strange: the log cannot be read" in told
