"""A fleet that stops, however it stops, goes on as if it had not."""

import json
import os
import random
import re
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from recall.runs.store import read
from recall.training.callbacks import Callback
from recall.training.checkpoint import NoCheckpointError
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

EVENTS = 32  # that a callback of the small fleet is told of


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


def test_equal_fleets_leave_equal_bytes_whatever_the_lag(tmp_path, uninterrupted):
    """Other tests train the small fleet again with its own lag."""
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        counter = CrashAt(10**9)
        run(start(small_spec(policy_lag=0), folder, counter))
        assert 10**9 - counter.count == EVENTS, "what crashes are drawn from"
    one, two = map(left_by, folders)
    assert one == two
    assert one != uninterrupted


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))])
@pytest.mark.parametrize("minutes", [1e-9, CHANGES["checkpoint_minutes"]])
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


@pytest.mark.parametrize("lag", [*(pytest.param(n, marks=pytest.mark.slow) for n in (0, 1)), 3])
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


def damaged_file(folder):
    """The largest file of the newest checkpoint."""
    newest = max(folder.glob("checkpoints/*"), key=lambda path: int(path.name))
    return max(newest.rglob("*"), key=lambda path: path.is_file() * path.stat().st_size)


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)


# In the first task; just after its end.
@pytest.mark.parametrize("crash_at", [pytest.param(8, marks=pytest.mark.slow), 15])
def test_a_damaged_checkpoint_is_told_of_and_the_one_before_used(tmp_path, uninterrupted, crash_at):
    crashed = tmp_path / "crashed"
    with pytest.raises(CrashError):
        run(start(small_spec(checkpoint_minutes=1e-9), crashed, CrashAt(crash_at)))
    restored = set()
    for damage in (flip, Path.unlink, truncate):
        folder = shutil.copytree(crashed, tmp_path / damage.__name__)
        damage(damaged_file(folder))
        trainer, complaints = go_on(folder)
        assert len(complaints) == 1
        assert "cannot be used" in complaints[0]
        restored.add(trainer.total_steps)
        if damage is not truncate:
            trainer.close()
    assert len(restored) == 1
    run(trainer)
    assert left_by(folder) == uninterrupted


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


def test_facts_that_were_changed_are_noticed(tmp_path):
    with pytest.raises(CrashError):
        run(start(small_spec(checkpoint_minutes=1e-9), tmp_path, CrashAt(8)))
    newest = max(tmp_path.glob("checkpoints/*"), key=lambda path: int(path.name))
    (path,) = [path for path in (newest / "metadata").rglob("*") if "updates" in _text(path)]
    metadata = json.loads(path.read_text())
    metadata["progress"]["updates"] += 1
    path.write_text(json.dumps(metadata))
    trainer, complaints = go_on(tmp_path)
    trainer.close()
    assert "its checksum does not match its content" in complaints[0]


def _text(path):
    return path.read_text() if path.is_file() else ""


def test_without_any_good_checkpoint_nothing_is_trained(tmp_path):
    with pytest.raises(CrashError):
        run(start(small_spec(checkpoint_minutes=1e-9), tmp_path, CrashAt(8)))
    for number in tmp_path.glob("checkpoints/*"):
        shutil.rmtree(number / "arrays")
    with pytest.raises(NoCheckpointError, match=r"no checkpoint in .* can be used: checkpoint"):
        go_on(tmp_path)


@pytest.mark.slow
def test_lost_transitions_are_noticed(tmp_path, uninterrupted):
    with pytest.raises(CrashError):
        run(start(small_spec(checkpoint_minutes=1e-9), tmp_path, CrashAt(8)))
    # The newest checkpoint stands at three chunks, the one before at two.
    log = tmp_path / "replay" / "task-0.rows"
    os.truncate(log, log.stat().st_size // 2)
    trainer, complaints = go_on(tmp_path)
    assert re.search(r"task-0.rows is damaged: it has \d+ bytes and not \d+", complaints[0])
    run(trainer)
    assert left_by(tmp_path) == uninterrupted


@pytest.mark.slow
def test_transitions_that_are_all_gone_are_not_made_up(tmp_path):
    with pytest.raises(CrashError):
        run(start(small_spec(checkpoint_minutes=1e-9), tmp_path, CrashAt(8)))
    (tmp_path / "replay" / "task-0.rows").unlink()
    with pytest.raises(NoCheckpointError, match=r"task-0\.rows is lost"):
        go_on(tmp_path)
