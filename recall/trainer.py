"""Training a fleet: the one place that sees worlds, replay, learner, evaluation and results.

A fleet moves chunk by chunk, all runs in lockstep:

    wait for the chunk that workers roll -> append it to replay -> burst of updates
    (meanwhile, with overlap, the workers roll the next chunk with the policies of before)

What a chunk holds is the course's affair (recall.course): a chunk of the current task, or of
others too. Between two chunks everything that decides the future is in `LearnerState`, the
transition log, the simulators' states and `Clock`: that is what a checkpoint holds.
"""

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from recall.acting import Acting, Policies, are_ready
from recall.checkpoint import Checkpoints
from recall.clock import Clock
from recall.collect.chunks import Chunks, Ended
from recall.collect.orders import RunTasks
from recall.collect.pool import Abandoned, Pool, default_workers, never
from recall.errors import RecallError
from recall.evaluation import best_heads, evaluate, score_heads
from recall.experience import Experience
from recall.learn import fleet
from recall.learn.devices import place, sent, spread
from recall.results.policies import FINAL, write_policies
from recall.results.records import score_records
from recall.results.store import Store
from recall.spec import FleetSpec, blueprint_of
from recall.telling import Telling
from recall.types import LearnerState, Stage
from recall.watch import Watcher

Array = np.ndarray


class Interrupted(RecallError):  # noqa: N818  (it is no error to stop)
    """Asked to stop; all is saved."""


class Trainer:
    """Trains one fleet in one folder."""

    def __init__(
        self,
        spec: FleetSpec,
        folder: Path,
        store: Store,
        watcher: Watcher,
        should_stop: Callable[[], bool] = never,
    ):
        """`should_stop` is asked between chunks and while episodes are played."""
        self.spec, self.folder, self.store, self.watcher = spec, folder, store, watcher
        self.schedule, self.course = spec.settings.schedule, spec.course
        self.names = [run.name for run in spec.runs]
        self.blueprint, state_size = blueprint_of(spec)
        self.clock = Clock()
        self.should_stop = should_stop
        self.telling = Telling(spec, store, watcher)
        self.checkpoints = Checkpoints(folder)
        self.experience = Experience(spec, self.blueprint, folder)
        self.state = place(fleet.init(self.blueprint, jnp.array([run.seed for run in spec.runs])))
        self.pool = Pool(
            [RunTasks(run.seed, run.tasks) for run in spec.runs],
            spec.settings.world,
            fleet.policy_shape(self.blueprint),
            self.schedule.chunk_steps,
            state_size,
            self.schedule.workers or default_workers(),
            should_stop=lambda: self.should_stop(),
            most_at_once=self.course.most_at_once,
            most_played=self.course.most_played,
        )
        self.chunks = Chunks(self.pool)
        self.acting = Acting(spec, self.blueprint)
        self._early: Policies | None = None  # of the chunk after the one that is ordered
        self._saved_at = time.monotonic()
        self._stage_saved = 0  # that the newest checkpoint stands in

    @property
    def total_steps(self) -> int:
        """Steps of each run since its start."""
        return self.course.steps_at(self.clock.stage, self.clock.steps)

    @property
    def task(self) -> int:
        """The position whose transitions are the learner's new ones."""
        return self.course.current(self.clock.stage)

    def stage(self) -> Stage:
        """The learner's view of the clock."""
        return self.experience.stage(self.clock.stage, self.total_steps)

    def policies(self, position: int) -> Array:
        """Flat policies [run, size] of the task at `position`, as they are evaluated."""
        return np.asarray(fleet.flat_policies(self.blueprint, self.state, sent(position)))

    # The loop.

    def run(self) -> None:
        """Train to the end, or until asked to stop."""
        self.watcher.on_start(self.spec, self.folder, self.total_steps)
        while self.clock.stage < self.course.stages:
            if self.clock.steps == 0:
                self.start_stage()
            self._train_stage()
            self._end_stage()
        final = {task: self.policies(task) for task in range(self.spec.tasks)}
        write_policies(self.folder, self.names, FINAL, final)
        self.store.finish({"finished": True, "failed": self.clock.failed})
        self.experience.clear()

    def start_stage(self) -> None:
        """Choose the best old head where the method asks for it; build the environments."""
        stage, task = self.clock.stage, self.task
        best = np.full(len(self.names), -1)
        if stage and self.spec.method.best_return:
            self.watcher.on_activity("scoring old heads on the new task")
            episodes = self.schedule.scoring_episodes
            try:
                scores = score_heads(self.pool, self.spec.runs, self.policies, task, episodes)
            except Abandoned:
                self._leave()
            best = best_heads(scores)
            self.store.append("training", score_records(scores, best, self.total_steps, task))
        self.state = spread(fleet.start_task(self.blueprint, self.state, sent(task), best))
        self._early = None
        self.pool.begin(self.course.played(stage), fresh=self.course.learnt(stage))

    def _train_stage(self) -> None:
        # A fleet that was stopped in the middle of an evaluation resumes with that evaluation.
        while True:
            at_end = self.clock.steps == self.course.steps_per_stage
            if at_end:
                self._end_task()
            if self._evaluation_is_due():
                self._evaluate()
            if jax.default_backend() == "cpu":
                # Where a burst may take seconds, none stands in a queue behind it: a signal has
                # one to wait for, not two. An accelerator must not be kept waiting for its next.
                jax.block_until_ready(self.state)
            self._save_if_due()
            if at_end:
                return
            self.advance()
            self.watcher.on_steps(self.total_steps)

    def advance(self) -> None:
        """One chunk: take it, order the next, learn from it.

        With overlap the next chunk acts from the policies of before this one's burst. Whether it
        is ordered before that burst starts or behind changes nothing but who waits: workers that
        are slower than the learner get it at once, and a slower learner gets its burst at once.
        """
        if not self.chunks.ordered:
            self._order(self._policies())
        rows, ended = self.chunks.take()
        before = self.total_steps
        self.clock.steps += self.schedule.chunk_steps
        more = self.clock.steps < self.course.steps_per_stage
        early = (self._early or self._policies()) if more and self.schedule.overlap else None
        if early and are_ready(early):
            self._order(early)
        self._keep(rows, ended, before)
        metrics = self.learn() if self.clock.steps >= self.schedule.update_after else {}
        if more and not self.chunks.ordered:
            self._order(early or self._policies())
        self._early = self._policies(ahead=self.schedule.chunk_steps) if early else None
        if self.clock.steps % self.schedule.record_every == 0:
            self.telling.check_losses(self.clock, self.total_steps, self.state)
            self.telling.training(self.clock, self.total_steps, metrics, self.clock.episodes)
            self.clock.episodes = []

    def _policies(self, ahead: int = 0) -> Policies:
        return self.acting.policies(self.state, self.clock, ahead)

    def _order(self, policies: Policies) -> None:
        self.chunks.order(self.acting.wanted(policies, self.clock))

    def _keep(self, rows: Array, ended: Ended, before: int) -> None:
        """Add the chunk that follows the first `before` steps to replay, and count its episodes."""
        stage = self.clock.stage
        self.telling.check_rows(self.clock, before, rows, self.course.chunk(stage, before))
        self.experience.append(stage, before, rows)
        self.clock.episodes += [
            [run, outcome.success, outcome.episode_return]
            for run, position, outcome in ended
            if position in self.course.learnt(stage)
        ]

    def learn(self) -> Any:
        """One burst of updates; returns its metrics, not waited for."""
        updates = self.spec.settings.learner.updates_per_burst
        self.state, metrics = fleet.burst(
            self.blueprint,
            self.state,
            self.experience.replay,
            self.stage(),
            sent(self.clock.updates),
            fleet.groups_of(self.blueprint, self.task),
            updates,
        )
        self.clock.updates += updates
        return metrics

    def _end_task(self) -> None:
        """Call the method's hook for the end of a task and retrain, unless that has been done.

        The stage's last evaluation follows, as in Continual World: it measures the policies that
        the stage leaves behind.
        """
        clock = self.clock
        if clock.retrained < 0:
            replay = self.experience.replay
            self.state = spread(fleet.end_task(self.blueprint, self.state, replay, self.stage()))
            clock.retrained = 0
        last = clock.stage == self.course.stages - 1
        updates = 0 if last else self.spec.method.retraining_updates
        if clock.retrained < updates:
            self._retrain(updates)

    def _retrain(self, updates: int) -> None:
        self.watcher.on_activity("retraining")
        while self.clock.retrained < updates:
            self.learn()
            self.clock.retrained += self.spec.settings.learner.updates_per_burst
            if self.clock.retrained >= updates:  # before it can be saved as done
                self.state = spread(
                    fleet.end_retraining(self.blueprint, self.state, sent(self.task))
                )
            # No chunk is collected meanwhile, so without waiting all bursts would be queued.
            jax.block_until_ready(self.state)
            self._save_if_due()

    def _end_stage(self) -> None:
        """Retire the stage's transitions, write its policies and save the start of the next."""
        number = self.clock.stage
        self.experience.retire(self.state, self.stage())
        for task in self.course.learnt(number):
            write_policies(self.folder, self.names, f"task-{task}", {task: self.policies(task)})
        self.clock.stage, self.clock.steps, self.clock.retrained = number + 1, 0, -1
        self.save()
        self.watcher.on_task_end(self.course.current(number))

    def _evaluation_is_due(self) -> bool:
        if self.clock.steps == 0 or self.clock.evaluated == self.total_steps:
            return False
        at_end = self.clock.steps == self.course.steps_per_stage
        return at_end or self.clock.steps % self.schedule.evaluate_every == 0

    def _evaluate(self) -> None:
        self.chunks.settle()
        step = self.total_steps
        self.telling.check_losses(self.clock, step, self.state)
        self.watcher.on_activity("evaluating")
        episodes = self.schedule.evaluation_episodes
        try:
            played = list(evaluate(self.pool, self.spec.runs, self.policies, step, episodes))
        except Abandoned:  # done again, with the same outcome, after resuming
            return
        self.clock.evaluated = step
        self.telling.evaluation(self.clock, step, played)
        replay, stage = self.experience.replay, self.stage()
        plastic = fleet.plasticity(self.blueprint, self.state, replay, stage, sent(step))
        self.telling.training(self.clock, step, plastic)

    # Checkpoints.

    def _save_if_due(self) -> None:
        due = time.monotonic() - self._saved_at > 60.0 * self.schedule.checkpoint_minutes
        # At step 0 the checkpoint of the last stage's end still stands: `start_stage` is repeated.
        stop = self.should_stop()
        if self.clock.steps and (due or stop):
            self.save()
        if stop:
            self._leave()

    def _leave(self) -> NoReturn:
        raise Interrupted(
            f"stopped at step {self.total_steps:,} of {self.spec.total_steps:,}; all is saved"
        )

    def save(self) -> None:
        """Write a checkpoint; the chunk in flight is waited for and goes into it."""
        self.chunks.settle()
        self.experience.sync()
        arrays, ended = self.chunks.saved()
        facts = {
            "clock": dataclasses.asdict(self.clock),
            "records": self.store.sync(),
            "ended": ended,
        }
        self.checkpoints.save({"learner": self.state, "chunks": arrays}, facts)
        self._saved_at = time.monotonic()
        # The checkpoints that are kept are this one and the one before.
        self.experience.forget(before=self._stage_saved)
        self._stage_saved = self.clock.stage
        self.watcher.on_checkpoint()

    def restore(self) -> list[str]:
        """Go back to the newest whole checkpoint, or to the start where none was written.

        Returns what was wrong with newer ones.
        """
        arrays, _ = self.chunks.saved()
        found = self.checkpoints.restore(
            {"learner": self.state, "chunks": arrays}, self._check_facts
        )
        if found is None:
            self.store.cut({"evaluations": 0, "training": 0})
            self.experience.restore(0, 0)
            return []
        arrays, facts, complaints = found
        self.clock = Clock(**facts["clock"])
        self._early = None
        self._stage_saved = self.clock.stage
        self.state = LearnerState(*place(arrays["learner"]))
        self.store.cut(facts["records"])
        self.experience.restore(self.clock.stage, self.total_steps)
        self.chunks.restore(arrays["chunks"], facts["ended"])
        if self.clock.steps:
            self.pool.begin(self.course.played(self.clock.stage), fresh=())
        return complaints

    def _check_facts(self, facts: dict[str, Any]) -> None:
        """Refuse a checkpoint whose records or transitions are no longer there."""
        self.store.check(facts["records"])
        stage, steps = facts["clock"]["stage"], facts["clock"]["steps"]
        self.experience.check(stage, self.course.steps_at(stage, steps))

    def close(self) -> None:
        """Release workers and files."""
        self.pool.close()
        self.experience.close()
        self.store.close()
        self.checkpoints.close()
