"""A fleet that stops, however it stops, goes on as if it had not."""

import random
from typing import Any, NamedTuple

import pytest

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
from tests.training.test_damage import damaged_file, truncate

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


def test_another_lag_leaves_other_bytes_after_as_many_events(tmp_path, uninterrupted):
    counter = CrashAt(10**9)
    run(start(small_spec(policy_lag=0), tmp_path, counter))
    assert 10**9 - counter.count == EVENTS, "what crashes are drawn from"
    assert left_by(tmp_path) != uninterrupted


@pytest.mark.parametrize(
    ("minutes", "seed"),
    [
        (1e-9, 0),
        *(
            pytest.param(minutes, seed, marks=pytest.mark.slow)
            for minutes, seed in ((1e-9, 1), (1e-9, 2), (OFTEN, 0), (OFTEN, 1), (OFTEN, 2))
        ),
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


class Earlier(NamedTuple):
    """The learner's state in checkpoints of versions without remedies, in their order."""

    trainable: Any
    method_state: Any
    key: Any
    failed_at: Any


def test_a_checkpoint_of_a_version_without_remedies_is_whole(tmp_path, uninterrupted):
    trainer = start(small_spec(), tmp_path, CrashAt(EVENTS // 2))
    trainer._learner = lambda: Earlier(*trainer.state[:4])
    with pytest.raises(CrashError):
        run(trainer)
    trainer, complaints = go_on(tmp_path)
    assert complaints == []
    assert trainer.progress.updates > 0
    run(trainer)
    assert left_by(tmp_path) == uninterrupted


@pytest.mark.slow
@pytest.mark.parametrize("remedy", ["l2_init", "c_chain", "continual_backprop"])
def test_a_remedy_goes_on_with_what_it_knows(tmp_path, remedy):
    mature = {"continual_backprop_maturity": 20, "continual_backprop_rate": 0.01}
    numbers = mature if remedy == "continual_backprop" else {}
    spec = small_spec("ewc", seeds=(0,), remedy=remedy, **numbers)
    run(start(spec, tmp_path / "whole"))
    trainer = start(spec, tmp_path / "parts", CrashAt(EVENTS // 4))
    with pytest.raises(CrashError):
        run(trainer)
    run(go_on(tmp_path / "parts")[0])
    assert left_by(tmp_path / "parts") == left_by(tmp_path / "whole")


class StopAt(Callback):
    """Asks to stop when a certain thing starts."""

    def __init__(self, activity):
        self.activity, self.trainer, self.finished = activity, None, []

    def on_activity(self, what):
        self.trainer.should_stop = lambda: self.activity in what

    def on_evaluation_start(self, total_steps):
        self.on_activity("evaluating")

    def on_evaluation(self, total_steps, records):
        self.finished.append(total_steps)


@pytest.mark.slow
def test_episodes_are_left_in_the_middle_and_played_again(tmp_path, uninterrupted):
    callback, step = StopAt("evaluating"), 150
    callback.trainer = start(small_spec(checkpoint_minutes=1.0), tmp_path, callback)
    with pytest.raises(Interrupted, match=f"stopped at step {step} of 600; everything is saved"):
        run(callback.trainer)
    assert step not in callback.finished
    trainer, _ = go_on(tmp_path)
    assert trainer.evaluation.pending is not None
    assert trainer.evaluation.pending.step == step
    run(trainer)
    assert left_by(tmp_path) == uninterrupted


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


def special_spec(method):
    """A sample kept of each task, or updates after its end; and a replay that is too small."""
    special = {"clonex": {"memory_per_task": 60}, "packnet": {"retraining_updates": 15}}[method]
    changes = {"checkpoint_minutes": 1e-9, "replay_capacity": 200} | special
    return small_spec(method, seeds=(0,), **changes)


@pytest.mark.slow
def test_a_sample_of_old_tasks_and_a_replay_that_went_round_are_restored(tmp_path):
    spec = special_spec("clonex")
    run(start(spec, tmp_path / "whole"))
    with pytest.raises(CrashError):
        run(start(spec, tmp_path / "crashed", CrashAt(25)))
    run(go_on(tmp_path / "crashed")[0])
    assert left_by(tmp_path / "crashed") == left_by(tmp_path / "whole")


@pytest.mark.slow
def test_coloured_noise_goes_on_where_it_stopped(tmp_path):
    spec = small_spec(seeds=(0,), noise_colour=1.0, checkpoint_minutes=1e-9)
    run(start(spec, tmp_path / "whole"))
    with pytest.raises(CrashError):
        run(start(spec, tmp_path / "crashed", CrashAt(12)))
    run(go_on(tmp_path / "crashed")[0])
    assert left_by(tmp_path / "crashed") == left_by(tmp_path / "whole")


@pytest.mark.slow
def test_retraining_is_left_in_the_middle_and_goes_on_there(tmp_path):
    spec = special_spec("packnet")
    run(start(spec, tmp_path / "whole"))
    callback = StopAt("retraining")
    callback.trainer = start(spec, tmp_path / "stopped", callback)
    with pytest.raises(Interrupted, match="stopped at step 300 of 600; everything is saved"):
        run(callback.trainer)
    trainer, _ = go_on(tmp_path / "stopped")
    assert trainer.progress.retrained == 5
    run(trainer)
    assert left_by(tmp_path / "stopped") == left_by(tmp_path / "whole")


@pytest.mark.slow
def test_what_the_checkpoint_before_needs_is_kept_where_only_a_sample_of_a_task_is(tmp_path):
    """The end of a task makes its transitions useless to the newest checkpoint alone."""
    spec = special_spec("clonex")
    run(start(spec, tmp_path / "whole"))
    with pytest.raises(CrashError):
        run(start(spec, tmp_path / "crashed", CrashAt(15)))
    truncate(damaged_file(tmp_path / "crashed"))
    trainer, complaints = go_on(tmp_path / "crashed")
    assert len(complaints) == 1
    run(trainer)
    assert left_by(tmp_path / "crashed") == left_by(tmp_path / "whole")
