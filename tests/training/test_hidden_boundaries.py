"""With hidden boundaries, one head learns the sequence as if it were one task."""

import shutil
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.analysis.collection import gather
from recall.analysis.frames import analyse
from recall.config.spec import make_spec
from recall.errors import BadValueError
from recall.learn import fleet
from recall.methods import METHODS, ClonEx, FineTuning, PerfectMemory
from recall.nets.sharding import to_int32
from recall.policies.policy import read_stored
from recall.replay.history import History
from recall.runs.store import read
from recall.settings import ScheduleSettings, Settings
from recall.training.agents import agent_of
from recall.training.callbacks import Callback
from recall.training.trainer import Trainer
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
from tests.factories.folders import write_fleet

CHUNK, STEPS = 50, CHANGES["steps_per_task"]


def hidden_spec(method="perfect_memory", **changes):
    return small_spec(method, boundaries="hidden", **changes)


class Copy(Callback):
    """Copies the log of transitions, which is removed when the fleet is done."""

    def __init__(self, folder):
        self.folder = folder

    def on_task_end(self, task):
        shutil.copytree(self.folder / "replay", self.folder / f"copy-{task}")

    def rows(self, trainer):
        shape = (-1, len(trainer.names), CHUNK, trainer.agent.columns.width)
        return np.fromfile(self.folder / "copy-1" / "task-0.rows", np.float32).reshape(shape)


class Learned(NamedTuple):
    """A fleet that has been trained, and the transitions [chunk, run, step, column] it had."""

    trainer: Trainer
    rows: np.ndarray


@pytest.fixture(
    scope="module",
    params=["perfect_memory", pytest.param("fine_tuning", marks=pytest.mark.slow)],
)
def learned(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    copy = Copy(folder)
    trainer = start(hidden_spec(request.param, environments=2), folder, copy)
    run(trainer)
    return Learned(trainer, copy.rows(trainer))


def test_the_learner_has_one_head_and_one_ring(learned):
    trainer = learned.trainer
    trainable = trainer.state.trainable
    for heads in jax.tree.leaves((trainable.log_alpha, trainable.popart, trainable.actor["heads"])):
        assert heads.shape[1] == 1
    replay = trainer.history.replay
    assert replay.old.shape[1] == 0
    held = 2 * STEPS if trainer.spec.method.name == "perfect_memory" else STEPS
    assert replay.new.shape[1] == held


def test_the_learner_is_that_of_one_long_task_with_the_same_transitions(learned, tmp_path):
    """So nothing happens at the boundary: no hook, no reset, no pause until `update_after`."""
    hidden = learned.trainer
    method, capacity = hidden.spec.method.name, hidden.history.capacity
    alone = small_spec(method, "point-rich", steps_per_task=2 * STEPS, environments=2)
    agent, settings = agent_of(alone)[0], alone.settings
    history = History(alone.task_schedule, agent.columns, 2, capacity, None, tmp_path, 2)
    state = fleet.init(agent, jnp.array([each.own_seed for each in hidden.spec.runs]))
    state = fleet.start_task(agent, state, to_int32(0))
    updates = 0
    for number, rows in enumerate(learned.rows):
        total = (number + 1) * CHUNK
        history.append(0, total - CHUNK, rows[:, None])
        if total >= settings.schedule.update_after:
            view, each = history.view(0, total), settings.learner.updates_per_burst
            state, _ = fleet.burst(agent, state, history.replay, view, to_int32(updates), 0, each)
            updates += each
    history.close()
    assert updates == hidden.progress.updates > 0
    jax.tree.map(np.testing.assert_array_equal, state, hidden.state)


def test_an_episode_ends_where_the_world_changes(learned):
    """It had not ended by itself: the n-step returns before must not go on in the other task."""
    truncated = learned.trainer.agent.columns.split(learned.rows)[4]
    last = truncated.reshape(2, -1, *truncated.shape[1:])[:, -1]  # chunk of each task
    assert (last[:, :, -2:] == 1).all()  # of both environments
    assert last[:, :, :-2].sum() == 0


def test_all_tasks_are_evaluated_with_the_one_policy(learned):
    results = read(learned.trainer.folder)
    steps = {(each["step"], each["run"], each["position"]) for each in results.evaluations}
    assert steps == {
        (step, run, position)
        for step in (150, 300, 450, 600)
        for run in (0, 1)
        for position in (0, 1)
    }
    behaviour = learned.trainer.behaviour
    assert [behaviour.actor(stage, 0, stage) for stage in (0, 1)] == [-1, 1], "random at the start"
    name = results.runs[0]["name"]
    first, final = (read_stored(learned.trainer.folder, name, x)[1] for x in ("task-0", "final"))
    np.testing.assert_array_equal(final[0], final[1])
    assert (first[0] != final[0]).any()


def test_metrics_of_the_one_head_are_those_of_the_task_in_training(learned):
    found = read(learned.trainer.folder).training
    alphas = {each["step"]: each["alpha"] for each in found if "alpha" in each}
    assert set(alphas) == {100, 200, 300, 400, 500, 600}
    for step, alpha in alphas.items():
        known = [position for position, value in enumerate(alpha) if value is not None]
        assert known == [int(step > STEPS)]


@pytest.mark.slow
@pytest.mark.parametrize("crash_at", [17, 25])  # at the boundary, behind it
def test_a_crash_changes_nothing(tmp_path, learned, crash_at):
    method = learned.trainer.spec.method.name
    spec = hidden_spec(method, environments=2, checkpoint_minutes=1e-9)
    with pytest.raises(CrashError):
        run(start(spec, tmp_path, CrashAt(crash_at)))
    trainer, complaints = go_on(tmp_path)
    assert complaints == []
    run(trainer)
    assert left_by(tmp_path) == left_by(learned.trainer.folder)


HIDDEN = Settings(schedule=ScheduleSettings(boundaries="hidden"))


def test_methods_that_must_know_boundaries_are_refused():
    for name in METHODS.keys() - {"fine_tuning", "perfect_memory"}:
        with pytest.raises(BadValueError, match=f"{name}.*fine_tuning, perfect_memory"):
            make_spec(name, SEQUENCE, [0], HIDDEN)


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        (PerfectMemory(replay_mode="online"), "collects"),
        (PerfectMemory(memory_per_task=100), "memory_per_task"),
        (PerfectMemory(critic_heads="separate"), "networks of its own"),
        (FineTuning(best_return=True), "best_return"),
        (ClonEx(best_return=False), "old tasks"),
    ],
)
def test_so_are_settings_that_need_them(method, reason):
    with pytest.raises(BadValueError, match=reason):
        make_spec(method, SEQUENCE, [0], HIDDEN)


def test_a_method_of_the_users_does_without_if_it_has_no_hook_at_a_boundary():
    @dataclass(frozen=True)
    class Own(FineTuning):
        name: ClassVar[str] = "own"

        def on_update(self, agent, method_state, batch, q, target):
            return method_state

    assert make_spec(Own(), SEQUENCE, [0], HIDDEN).hidden
    settings = Settings(schedule=ScheduleSettings(boundaries="hidden", keep_replay=True))
    with pytest.raises(BadValueError, match="keep_replay=False"):
        make_spec(Own(), SEQUENCE, [0], settings)


def test_labels_tell_and_references_are_found(learned, tmp_path):
    """A single task has no boundaries, so any run of it can be a reference."""
    for task in SEQUENCE.split(","):
        settings = CHANGES | {"environments": 2, "old_batch_size": 128}
        write_fleet(tmp_path / task, sequence=task, **settings)
    scores = analyse(gather([learned.trainer.folder, tmp_path])).scores
    mine = scores[scores.sequence == SEQUENCE]
    assert mine.label.str.endswith("hidden boundaries").all()
    assert mine.transfer.notna().all()
