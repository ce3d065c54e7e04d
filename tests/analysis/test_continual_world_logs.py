"""Logs in Continual World's format, beside ours and alone."""

import csv
from pathlib import Path

import numpy as np
import pytest

from recall.analysis.collection import gather
from recall.analysis.estimates import estimate
from recall.analysis.frames import analyse, select
from recall.analysis.metrics import FORGETTING, PERFORMANCE, TRANSFER
from recall.report.tables import all_tables
from recall.report.tables.pivot import notes_below
from tests.factories.folders import EVERY, STEPS, write_fleet, write_log

EXAMPLE = Path(__file__).parent / "continual_world_example"


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
    ten = ("hammer", "push-wall", "faucet-close", "push-back", "stick-pull", "handle-press-side",
           "push", "shelf-place", "window-close", "peg-unplug-side")  # fmt: skip
    write_log(tmp_path / "twenty", [f"{task}-v2" for task in 2 * ten], 100, 50)
    assert gather(tmp_path / "twenty").runs[0].sequence == "cw20"


def test_ours_and_theirs_stand_side_by_side(tmp_path):
    progress = write_log(tmp_path / "theirs", cl_method="ewc", group_id="one") / "progress.tsv"
    progress.write_text(progress.read_text().replace("/return/avg", "/return"))  # as RECALL's code
    write_log(tmp_path / "again", cl_method="ewc", seed=1, group_id="two", log_every=200)
    write_log(tmp_path / "weaker", cl_method="ewc", cl_reg_coef=10.0)
    write_fleet(tmp_path / "ours", "ewc", "pair-6-0", seeds=(0,))
    write_fleet(tmp_path / "alone", sequence=[["push"], ["hammer"]])
    found = gather(tmp_path)
    labels = ["EWC", "EWC, imported", "EWC, imported, cl reg coef 10"]
    assert list(found.by_sequence()["pair-6-0"].by_label()) == labels
    theirs = select(analyse(found).scores, label=labels[1])
    assert theirs["alone"].tolist() == [()] * 4  # ours are no references of theirs
    assert found.by_label()[labels[1]][0].curves["deterministic", "return"][0, 1] == 100.0


@pytest.mark.parametrize(
    ("config", "method"),
    [
        ({"cl_method": None}, "fine_tuning"),
        ({"cl_method": None, "buffer_type": "reservoir"}, "perfect_memory"),
        ({"cl_method": "packnet"}, "packnet"),
        ({"cl_method": "ft"}, "fine_tuning"),
        ({"cl_method": "pm"}, "perfect_memory"),
        ({"cl_method": "somebodys"}, "somebodys"),
    ],
)
def test_their_names_of_methods(tmp_path, config, method):
    assert gather(write_log(tmp_path / "a", **config)).runs[0].method == method


def successes(folder: str, column: str) -> np.ndarray:
    """Return a column of one of the example's logs, read apart from the package."""
    with (EXAMPLE / folder / "progress.tsv").open(newline="") as file:
        return np.array([float(row[column]) for row in csv.DictReader(file, delimiter="\t")])


def test_the_bundled_example_is_imported_whole():
    found = gather(EXAMPLE)
    assert found.problems == ()
    assert found.labels == ["Fine-tuning, imported", "EWC, imported", "Multi-task, imported"]
    assert [run.seed for run in found.runs if run.method == "ewc"] == [0, 1]
    analysis = analyse(found)
    ewc, together = (select(analysis.scores, method=name) for name in ("ewc", "multi_task"))
    names = [f"test/stochastic/{n}/{task}-v1/success" for n, task in enumerate(("push", "hammer"))]
    logs = np.array(
        [[successes(f"cl/{log}", name) for name in names] for log in (1700000000, 1700000001)]
    )  # [run, task, evaluation]; ten evaluations a stage, of which the last two count
    final = logs[:, :, -2:].mean(axis=2)
    assert estimate(ewc, PERFORMANCE).value == pytest.approx(final.mean())
    learned = np.stack([logs[:, 0, 8:10].mean(axis=1), final[:, 1]], axis=1)
    assert estimate(ewc, FORGETTING).value == pytest.approx((learned - final).mean())
    alone = [
        successes(f"single/{log}", f"test/stochastic/0/{task}-v1/success").mean()
        for log, task in ((1700000020, "push"), (1700000021, "hammer"))
    ]
    areas = [logs[:, 0, :10].mean(), logs[:, 1, 10:].mean()]
    gains = [(own - other) / (1 - other) for own, other in zip(areas, alone, strict=True)]
    assert estimate(ewc, TRANSFER).value == pytest.approx(np.mean(gains))
    assert estimate(together, FORGETTING) is estimate(together, TRANSFER) is None
    assert together["run"].iloc[0].settings["log.use_popart"] is True
    notes = [note for table in all_tables(analysis) for note in notes_below(table)]
    assert not any("recall train" in note or "Not comparable" in note for note in notes)


STEP, SUCCESS = "total_env_steps", "test/stochastic/0/push-v1/success"


@pytest.mark.parametrize(
    ("rows", "steps", "successes"),
    [
        (["100\t0.5", "200\t1", "30"], [100, 200], [0.5, 1]),  # torn
        (["100\t0.5", "200\t1"], [100, 200], [0.5, 1]),  # no last newline
        (["100\t0.5\t", "200\t1\t", ""], [100, 200], [0.5, 1]),
        (  # restarted
            ["100\t0.5", "200\t1", f"{STEP}\t{SUCCESS}", "200\t0", "300\t1", ""],
            [100, 200, 300],
            [0.5, 0, 1],
        ),
        (["100\t0.5", "200\t1", "100\t0", ""], [100], [0]),  # begun again
    ],
)
def test_rows_being_written_are_left_out_and_rows_written_again_replaced(
    tmp_path, rows, steps, successes
):
    progress = write_log(tmp_path / "a", ["push-v1"]) / "progress.tsv"
    progress.write_text("\n".join([f"{STEP}\t{SUCCESS}", *rows]))
    (run,) = gather(tmp_path).runs
    assert run.steps.tolist() == steps
    assert run.curves["stochastic", "success"][:, 0].tolist() == successes
    # A step at the end of a row that is being written may lack digits.
    progress.write_text(f"{SUCCESS}\t{STEP}\n0.5\t100\n1\t200\n1\t25")
    assert gather(tmp_path).runs[0].steps.tolist() == [100, 200]


def test_bad_logs_are_told(tmp_path):
    write_log(tmp_path / "good")
    write_log(tmp_path / "short", until=STEPS, seed=1)
    torn = write_log(tmp_path / "torn", seed=2)
    with (torn / "progress.tsv").open("a") as file:
        file.write("0.5\t0.1")
    (write_log(tmp_path / "cut", seed=4) / "config.json").write_text('{"seed": ')
    (write_log(tmp_path / "bare", seed=5) / "progress.tsv").write_text("epoch\ttotal_env_steps\n")
    strange = write_log(tmp_path / "strange", seed=6) / "progress.tsv"
    strange.write_text("total_env_steps\n250\n")
    found = gather(tmp_path)
    assert [(run.seed, run.complete) for run in found.runs] == [(0, True), (1, False), (2, True)]
    told = "\n".join(found.problems)
    assert "short ends at step 1,000 of 2,000" in told
    assert "cut: the log cannot be read" in told
    assert "bare has no evaluations yet" in told
    assert "strange: the log cannot be read" in told
