"""A fleet that stops, however it stops, goes on as if it had not."""

import random

import pytest

import recall
from recall.runs.store import read
from recall.training.callbacks import Callback
from recall.training.trainer import Interrupted
from tests.factories.fleets import (
    CHANGES,
    CrashAt,
    CrashError,
    go_on,
    left_by,
    run,
    small_spec,
    start,
)
from tests.training.test_damage import checkpoints, truncate

EVENTS = 32  # that a callback of the small fleet is told of
OFTEN = CHANGES["checkpoint_minutes"]


def test_the_small_fleet_does_all_there_is_to_do(finished):
    results = read(finished)
    assert results.outcome.finished
    assert results.outcome.failed == {}
    steps = [record["step"] for record in results.evaluations]
    assert sorted(set(steps)) == [150, 300, 450, 600]
    # two runs, two tasks, two modes
    assert len(steps) == 4 * 8
    scored = [record for record in results.training if "best_head" in record]
    assert [record["step"] for record in scored] == [400, 400]
    learned = [record for record in results.training if "loss_q" in record]
    assert len(learned) == 2 * 6
    assert not (finished / "replay").exists()


def test_a_fleet_that_ends_before_its_first_checkpoint_begins_again(tmp_path, uninterrupted):
    with pytest.raises(CrashError):
        run(start(small_spec(checkpoint_minutes=600.0), tmp_path, CrashAt(12)))
    assert read(tmp_path).evaluations
    assert not checkpoints(tmp_path)
    recall.resume(tmp_path)
    assert left_by(tmp_path) == uninterrupted


@pytest.mark.parametrize(
    ("minutes", "seed"),
    [
        (1e-9, 0),
        *(pytest.param(OFTEN, seed, marks=pytest.mark.slow) for seed in (0, 1)),
    ],
)
def test_crashes_at_random_moments_change_nothing(tmp_path, uninterrupted, minutes, seed):
    draw = random.Random(seed)
    callback = CrashAt(draw.randint(1, EVENTS))
    trainer = start(small_spec(checkpoint_minutes=minutes), tmp_path, callback)
    with pytest.raises(CrashError):
        run(trainer)
    for _ in range(2):
        trainer, complaints = go_on(tmp_path, CrashAt(draw.randint(1, EVENTS // 2)))
        assert complaints == []
        try:
            run(trainer)
            break
        except CrashError:
            pass
    else:
        run(go_on(tmp_path)[0])
    assert left_by(tmp_path) == uninterrupted


def often(method="recall", **changes):
    """A fleet of one run that writes a checkpoint after every chunk."""
    return small_spec(method, seeds=(0,), checkpoint_minutes=1e-9, **changes)


MATURE = {"continual_backprop_maturity": 20, "continual_backprop_rate": 0.01}
# A replay that is too small, and a sample kept of each task, or updates after its end.
SAMPLE = often("clonex", replay_capacity=200, memory_per_task=60)
RETRAINING = often("packnet", replay_capacity=200, retraining_updates=15)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "crash"),
    [
        (often("ewc", remedy="l2_init"), 8),
        (often("ewc", remedy="c_chain"), 8),
        (often("ewc", remedy="continual_backprop", **MATURE), 8),
        (often(noise_colour=1.0), 12),
        (SAMPLE, 25),
        # In the middle of a stage, or near its end.
        (often(policy_lag=0), 4),
        (often(policy_lag=3), 4),
        (often(policy_lag=3), 9),
    ],
)
def test_what_is_special_goes_on_where_it_was(tmp_path, spec, crash):
    run(start(spec, tmp_path / "whole"))
    with pytest.raises(CrashError):
        run(start(spec, tmp_path / "crashed", CrashAt(crash)))
    run(go_on(tmp_path / "crashed")[0])
    assert left_by(tmp_path / "crashed") == left_by(tmp_path / "whole")


class StopInRetraining(Callback):
    trainer = None

    def on_activity(self, what):
        self.trainer.should_stop = lambda: "retraining" in what


class CrashAfterTheChoice(Callback):
    """Crashes after the chunk behind the choice of a head, at step 400; a checkpoint is at 400."""

    def on_steps(self, total_steps):
        if total_steps == 450:
            raise CrashError


@pytest.mark.slow
@pytest.mark.parametrize("lag", [0, 1, 3])
def test_a_fleet_that_resumes_where_a_head_is_copied_copies_it_again(tmp_path, lag):
    spec = small_spec(policy_lag=lag, copies="best_head", checkpoint_minutes=1e-9)
    run(start(spec, tmp_path / "whole"))
    chosen = [r["best_head"] for r in read(tmp_path / "whole").training if "best_head" in r]
    assert chosen == [0, 0]
    with pytest.raises(CrashError):
        run(start(spec, tmp_path / "crashed", CrashAfterTheChoice()))
    trainer, _ = go_on(tmp_path / "crashed")
    assert trainer.total_steps == 400
    run(trainer)
    assert left_by(tmp_path / "crashed") == left_by(tmp_path / "whole")


@pytest.mark.slow
def test_retraining_is_left_in_the_middle_and_goes_on_there(tmp_path):
    run(start(RETRAINING, tmp_path / "whole"))
    callback = StopInRetraining()
    callback.trainer = start(RETRAINING, tmp_path / "stopped", callback)
    with pytest.raises(Interrupted, match="stopped at step 300 of 600; everything is saved"):
        run(callback.trainer)
    trainer, _ = go_on(tmp_path / "stopped")
    assert trainer.progress.retrained == 5
    run(trainer)
    assert left_by(tmp_path / "stopped") == left_by(tmp_path / "whole")


@pytest.mark.slow
def test_what_the_checkpoint_before_needs_is_kept_where_only_a_sample_of_a_task_is(tmp_path):
    """The end of a task makes its transitions useless to the newest checkpoint alone."""
    run(start(SAMPLE, tmp_path / "whole"))
    with pytest.raises(CrashError):
        run(start(SAMPLE, tmp_path / "crashed", CrashAt(15)))
    truncate(checkpoints(tmp_path / "crashed")[-1])
    trainer, complaints = go_on(tmp_path / "crashed")
    assert len(complaints) == 1
    run(trainer)
    assert left_by(tmp_path / "crashed") == left_by(tmp_path / "whole")
