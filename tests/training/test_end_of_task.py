"""The end of a task: the method's hook, retraining, and only then the last evaluation."""

import contextlib
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from recall.learn import fleet
from recall.methods import METHODS
from recall.methods.packnet import PackNet
from recall.policies.policy import read_stored
from recall.runs.store import read
from recall.training.agents import agent_of
from recall.training.callbacks import Callback
from recall.training.evaluation import Evaluation, counts_of, evaluation_pool
from recall.training.trainer import Interrupted
from tests.factories.fleets import CrashError, go_on, left_by, run, small_spec, start

RETRAINING = 15  # updates: three bursts
END = 300  # of the first task, in steps


@dataclass(frozen=True)
class HalvingPackNet(PackNet):
    """PackNet that also halves the actor's shared weights at the end of a task."""

    name: ClassVar[str] = "halving_packnet"

    def on_task_end(self, agent, state, task, draw, key):
        state = super().on_task_end(agent, state, task, draw, key)
        actor = state.trainable.actor
        halved = actor | {"trunk": 0.5 * actor["trunk"]}
        return state._replace(trainable=state.trainable._replace(actor=halved))


class Story(Callback):
    """Remembers what it was told, with the number of retraining updates at that moment."""

    def __init__(self):
        self.told, self.trainer = [], None

    def on_activity(self, what):
        if not what.startswith("waiting"):
            self.told.append((what, self.trainer.total_steps, self.trainer.progress.retrained))

    def on_evaluation_start(self, total_steps):
        self.told.append(("evaluating", total_steps, self.trainer.progress.retrained))


class EndInLastEvaluation(Story):
    """Asks to stop, or crashes, when the evaluation that follows retraining starts or is over."""

    def __init__(self, crash):
        super().__init__()
        self.crash = crash

    def on_evaluation_start(self, total_steps):
        super().on_evaluation_start(total_steps)
        stop = self.trainer.progress.retrained == RETRAINING and not self.crash
        self.trainer.should_stop = lambda: stop

    def on_evaluation(self, total_steps, records):
        if total_steps == END and self.crash:  # recorded, but not yet saved
            raise CrashError


def begin(folder, callback, method="packnet", **changes):
    changes |= {"retraining_updates": RETRAINING, "checkpoint_minutes": 1e-9}
    callback.trainer = start(small_spec(method, **changes), folder, callback)
    return callback.trainer


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """A finished PackNet fleet: its folder, and what its callback was told.

    Its actor is evaluated itself, so that its measures are those of its policies.
    """
    folder, callback = tmp_path_factory.mktemp("packed"), Story()
    run(begin(folder, callback, average_actor=None))
    return folder, callback.told


@pytest.mark.slow
def test_the_last_evaluation_follows_pruning_and_retraining(packed):
    """In the last task nothing is retrained, and its hook has run before the evaluation."""
    _, told = packed
    assert told == [
        ("evaluating", 150, -1),
        ("retraining", END, 0),
        ("evaluating", END, RETRAINING),
        ("evaluating", 450, -1),
        ("evaluating", 600, 0),
    ]


@pytest.mark.slow
def test_the_last_evaluation_is_of_the_policies_that_the_task_leaves(packed):
    """Its records are those that the saved policies, pruned and retrained, give when replayed."""
    folder, _ = packed
    spec = small_spec("packnet", average_actor=None)
    names = [run.name for run in spec.runs]
    policies = np.stack([read_stored(folder, name, "task-0")[1][0] for name in names])
    evaluation = Evaluation(
        spec.runs, END, counts_of(spec.settings.schedule), [(0, run) for run in range(len(names))]
    )
    shape = fleet.policy_shape(agent_of(spec)[0])
    with contextlib.closing(evaluation_pool(spec.runs, spec, shape, 1)) as pool:
        pool.snapshot[0] = policies
        pool.start(evaluation.episodes())
        replayed = list(evaluation.records(pool.results()))
    recorded = [r for r in read(folder).evaluations if (r["step"], r["position"]) == (END, 0)]
    assert len(recorded) == 4  # two runs in two modes
    assert replayed == recorded


@pytest.mark.slow
def test_plasticity_is_measured_on_the_policies_that_the_task_leaves(packed):
    folder, _ = packed
    results = read(folder)
    measured = {
        record["run"]: record["weight_norm_pi"]
        for record in results.training
        if record["step"] == END and "weight_norm_pi" in record
    }
    assert len(measured) == 2
    for index, norm in measured.items():
        policy = read_stored(folder, results.runs[index]["name"], "task-0")[1][0]
        np.testing.assert_allclose(norm, np.linalg.norm(policy), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("crash", "error"), [(False, Interrupted), (True, CrashError)])
def test_the_evaluation_after_retraining_is_repeated_but_retraining_is_not(
    tmp_path, monkeypatch, crash, error
):
    """The hook after retraining is called once too: halved twice, the weights would differ."""
    monkeypatch.setitem(METHODS, HalvingPackNet.name, HalvingPackNet)
    run(begin(tmp_path / "whole", Story(), HalvingPackNet.name))
    folder = tmp_path / "stopped"
    with pytest.raises(error):
        run(begin(folder, EndInLastEvaluation(crash), HalvingPackNet.name))
    story = Story()
    story.trainer, complaints = go_on(folder, story)
    assert complaints == []
    assert story.trainer.evaluation.pending.step == story.trainer.progress.evaluated == END
    run(story.trainer)
    assert [(what, step) for what, step, _ in story.told] == [
        ("evaluating", END),
        ("evaluating", 450),
        ("evaluating", 600),
    ]
    assert left_by(folder) == left_by(tmp_path / "whole")
