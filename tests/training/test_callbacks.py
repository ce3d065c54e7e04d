"""What people see of a fleet, and that looking changes nothing."""

import importlib
import re
from pathlib import Path

import pytest

import recall
from recall.training.callbacks import Callback, CallbackList
from recall.training.display import Display
from recall.training.loggers import TensorBoardCallback, TrackioCallback
from tests.factories.events import Seen, events
from tests.factories.fleets import (
    CHANGES,
    SEQUENCE,
    CrashAt,
    CrashError,
    go_on,
    left_by,
    run,
    small_spec,
    start,
)


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    folder, seen = tmp_path_factory.mktemp("watched"), Seen()
    run(start(small_spec(), folder, seen.callback))
    seen.callback.on_failure("recall-point-rich,point-poor-seed1", 77, "it broke")
    seen.callback.on_message("a word")
    seen.callback.close()
    return folder, seen


def test_watching_changes_nothing(watched, uninterrupted):
    assert left_by(watched[0]) == uninterrupted


def test_lines_say_how_far_how_fast_and_how_well(watched):
    lines = watched[1].lines.getvalue().splitlines()
    assert lines[0] == "RECALL: 2 runs of 600 steps, tasks point-rich, point-poor"
    evaluations = [line for line in lines if "| success " in line]
    told = [re.search(r"\| success at step (\d+): ", line)[1] for line in evaluations]
    assert told == ["150", "300", "450", "600"]
    place, task, speed, left, success = evaluations[2].split(" | ")
    assert re.fullmatch(r"step (450|500|550|600) of 600", place), "training has gone on"
    assert task == "task 2 of 2: point-poor"
    assert speed.endswith("a run)")
    assert left.endswith("left")
    assert success.startswith("success at step 450: point-rich ")
    assert lines[-2:] == [
        "run recall-point-rich,point-poor-seed1 failed at step 77: it broke; "
        "the other runs continue",
        "a word",
    ]


def test_the_live_view_has_bars_and_a_table_of_every_run_and_task(watched):
    screen = watched[1].screen.getvalue()
    bars = "RECALL  2 runs", "task 1 of 2: point-rich", "all tasks", "600 of 600", "steps/s", "left"
    table = "success at 600", "recall-point-rich,point-poor-seed0", "mean"
    for text in (*bars, *table, "failed at step 77: it broke"):
        assert text in screen, text
    # The frame that stays says how it ended, not what was waited for last.
    assert "finished" in screen[screen.rindex("2 runs") :]


def test_tensorboard_has_every_number_of_every_run(watched):
    for seed in range(2):
        found = events(watched[0] / "tensorboard" / f"recall-point-rich,point-poor-seed{seed}")
        steps = [step for tag, step in found if tag == "stochastic_success/1-point-poor"]
        assert steps == [150, 300, 450, 600]
        steps = [step for tag, step in found if tag == "training/loss_q"]
        assert steps == [100, 200, 300, 400, 500, 600]
        assert ("training/alpha/0-point-rich", 600) in found


@pytest.mark.slow
def test_tensorboard_shows_nothing_twice_after_a_crash(tmp_path, watched):
    callback = CallbackList([TensorBoardCallback(), CrashAt(13)])
    with pytest.raises(CrashError):
        run(start(small_spec(checkpoint_minutes=1.0), tmp_path, callback))
    callback.close()
    trainer, _ = go_on(tmp_path, TensorBoardCallback())
    run(trainer)
    trainer.callback.close()
    name = "recall-point-rich,point-poor-seed0"
    whole = events(watched[0] / "tensorboard" / name)
    assert sorted(events(tmp_path / "tensorboard" / name)) == sorted(whole)


def test_trackio_has_every_number_of_every_run(tmp_path, monkeypatch):
    """Two runs at once, which go on in the same trackio runs when the fleet resumes."""
    pytest.importorskip("trackio", reason="trackio is not installed")
    storage = importlib.import_module("trackio.sqlite_storage")
    monkeypatch.setattr(storage, "TRACKIO_DIR", tmp_path / "trackio")
    callback = CallbackList([TrackioCallback("robots"), StopAt(200)])
    fleet = {"sequence": SEQUENCE, "seeds": (0, 1), "out": tmp_path / "fleet", **CHANGES}
    recall.train(callback=callback, **fleet)
    recall.resume(tmp_path / "fleet", callback=TrackioCallback("robots"))
    for seed in range(2):
        name = f"fleet/recall-point-rich,point-poor-seed{seed}"
        rows = storage.SQLiteStorage.get_logs("robots", name)
        steps = [row["step"] for row in rows if "stochastic_success/1-point-poor" in row]
        assert steps == [150, 300, 450, 600]
        assert {row["step"] for row in rows if "training/loss_q" in row} == set(
            range(100, 601, 100)
        )


@pytest.mark.slow
def test_weights_and_biases_has_a_run_for_each_run(tmp_path, monkeypatch):
    pytest.importorskip("wandb", reason="wandb is not installed")
    monkeypatch.setenv("WANDB_MODE", "offline")
    fleet = {"sequence": SEQUENCE, "seeds": (0, 1), "out": tmp_path, **CHANGES}
    recall.train(callback=recall.WandbCallback("robots"), **fleet)
    written = list(tmp_path.glob("wandb/offline-run-*/*.wandb"))
    assert len(written) == 2
    assert all(path.stat().st_size > 1000 for path in written)


def test_no_end_is_foretold_from_steps_without_updates():
    status = Display()
    status.on_start(small_spec(update_after=150), Path("nowhere"), 0)
    for steps in (50, 100):
        status.on_steps(steps)
    assert status.speed()
    assert not status.time_left(500)
    status.on_steps(150)  # with the first burst, which was compiled on the way
    assert not status.time_left(450)
    status.on_steps(200)
    assert status.time_left(400).endswith("left")


class StopAt(Callback):
    steps, message = 0, ""

    def __init__(self, stop_at):
        self.stop_at = stop_at

    def on_steps(self, total_steps):
        self.steps = total_steps

    def on_message(self, message):
        self.message = message

    def should_stop(self):
        return self.steps >= self.stop_at


def test_a_callback_stops_a_fleet_which_is_saved(tmp_path, uninterrupted):
    stopping = StopAt(200)
    callback = CallbackList([Callback(), stopping])
    results = recall.train(
        sequence=SEQUENCE, seeds=(0, 1), out=tmp_path, callback=callback, **CHANGES
    )
    assert results.outcome is None or not results.outcome.get("finished")
    assert f"recall resume {tmp_path}" in stopping.message
    recall.resume(tmp_path, callback=Callback())
    assert left_by(tmp_path) == uninterrupted
