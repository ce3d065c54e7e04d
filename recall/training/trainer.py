"""The trainer of a fleet: runs collect, append to replay, update, evaluate and save in lockstep.

Workers collect the next chunks meanwhile: `policy_lag` of them with policies from before a burst,
and then one with its policies, which they are sent as soon as these are there.
"""

import time
from functools import cached_property, partial
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from recall.collect.pool import Ended
from recall.errors import NoRunLeftError, RecallError
from recall.files.fleet_layout import FINAL, failures, learned
from recall.learn import fleet
from recall.nets.sharding import reshard, to_int32
from recall.runs.training_records import score_records
from recall.training.behaviour import Behaviour, best_heads, better_by_test, means
from recall.training.trained_fleet import TrainedFleet

Array = np.ndarray


class Interrupted(RecallError):  # noqa: N818  (stopping is not an error)
    """Training was asked to stop; everything is saved."""


class Trainer(TrainedFleet):
    """Trains one fleet in one folder."""

    _callback_stops = False

    @cached_property
    def behaviour(self) -> Behaviour:
        """Return who acts in which chunk."""
        return Behaviour(self.spec, self.agent)

    def run(self) -> None:
        """Train to the end, or until asked to stop."""
        self.callback.on_start(self.spec, self.folder, self.total_steps)
        if self.evaluation.pending is not None:
            self.callback.on_evaluation_start(self.evaluation.pending.step)
        while self.progress.stage < self.task_schedule.stages:
            if self.progress.steps == 0:
                self.start_stage()
            self._train_stage()
            self._end_stage()
        if not self._finish_evaluation():
            self._leave()
        self.write_policies(FINAL, range(self.spec.tasks))
        self.history.clear()  # before the fleet counts as finished, so that a kill leaves nothing
        self.store.finish(self.progress.failed, self.policy_files)

    def start_stage(self) -> None:
        """Reset the optimisers, unless the boundary is hidden, and build the environments."""
        stage = self.progress.stage
        if stage == 0 or not self.spec.hidden:
            self.state = reshard(fleet.start_task(self.agent, self.state, to_int32(self.task)))
        self.pool.begin(self.task_schedule.played(stage), fresh=self.task_schedule.learned(stage))

    def _train_stage(self) -> None:
        self._evaluate_and_save()  # a fleet may have been stopped before it had
        while not self._at_end:
            self.advance()
            self.callback.on_steps(self.total_steps)
            self._callback_stops = self.callback.should_stop()
            self._evaluate_and_save()
        self.flush_all()

    def advance(self) -> None:
        """Collect a chunk, append it to replay and update; do the rest while workers are busy."""
        if self.progress.steps == self.behaviour.turns(self.progress.stage).steps:
            self._choose_head()
        self._order_ahead()
        rows, ended = self.pool.take()
        before = self.total_steps
        self.progress.steps += self.schedule.chunk_steps
        if self.spec.hidden and self._at_end:
            # Truncate the last row of every environment, whose next one is of another task.
            truncated = self.agent.columns.split(rows)[4]
            truncated[..., -self.schedule.environments :] = 1.0
        self.history.append(self.progress.stage, before, rows)
        since = self.total_steps if self.spec.hidden else self.progress.steps
        metrics = self.update() if since >= self.schedule.update_after else {}
        self._order_ahead()
        self.flush()
        self._log_chunk(rows, ended, before)
        # At the end of a stage too: its last episodes must not count as the next task's.
        if self._at_end or self.progress.steps % self.schedule.record_every == 0:
            episodes, self.progress.episodes = self.progress.episodes, []
            failed_at = jnp.copy(self.state.failed_at)  # the state itself goes into the next burst
            burst = (self.progress, self.total_steps, metrics, episodes, failed_at)
            self.recorder.defer(partial(self.recorder.burst, *burst))

    def _order_ahead(self) -> None:
        """Order chunks with this state's policies, until `policy_lag` + 1 of them are ordered."""
        while self.pool.ordered <= self.schedule.policy_lag:
            ahead = self.pool.ordered * self.schedule.chunk_steps
            if self.progress.steps + ahead >= self.task_schedule.steps_per_stage:
                return
            self.pool.order(self.behaviour.requests(self.state, self.progress, ahead))

    def update(self) -> Any:
        """Start one burst of updates; return its metrics without waiting for them."""
        updates = self.spec.settings.learner.updates_per_burst
        self.state, metrics = fleet.burst(
            self.agent,
            self.state,
            self.history.replay,
            self.view(),
            to_int32(self.progress.updates),
            fleet.groups_of(self.agent, self.task),
            updates,
        )
        self.progress.updates += updates
        return metrics

    def _log_chunk(self, rows: Array, ended: Ended, before: int) -> None:
        """Check the chunk after the first `before` steps, log it and keep its ended episodes."""
        stage = self.progress.stage
        positions = self.task_schedule.chunk(stage, before)
        self.recorder.check_rows(self.progress, before, rows, positions)
        self.history.log(stage, before, rows, ended)
        self.progress.episodes += [
            [run, outcome.success, outcome.episode_return]
            for run, position, outcome in ended
            if position in self.task_schedule.learned(stage)
        ]

    def _evaluate_and_save(self) -> None:
        """Do what is due between two chunks or at the end of a stage.

        As in Continual World, a stage's last evaluation comes after the method's end-of-task hook.
        """
        if self._at_end:
            self.flush()
            self._end_task()
        self.evaluation.report_finished()
        steps = self.progress.steps
        is_due = self._at_end or (steps and steps % self.schedule.evaluate_every == 0)
        if is_due and self.progress.evaluated != self.total_steps and self._finish_evaluation():
            self.evaluate()
        if jax.default_backend() == "cpu":
            # On a CPU a burst may take seconds. No second one is queued behind it, so that a
            # signal waits for one burst at most. An accelerator needs its next burst queued.
            jax.block_until_ready(self.state)
        self._save_if_due()

    @property
    def _at_end(self) -> bool:
        """Return True if the stage has all its steps."""
        return self.progress.steps == self.task_schedule.steps_per_stage

    def _finish_evaluation(self) -> bool:
        """Wait until the pending evaluation is reported; return False if asked to stop."""
        pending = self.evaluation.pending
        if pending is not None:
            self.callback.on_activity(f"waiting for the evaluation at step {pending.step:,}")
        return self.evaluation.finish(self.should_stop)

    def _save_if_due(self) -> None:
        due = time.monotonic() - self.saved_at > 60.0 * self.schedule.checkpoint_minutes
        # At step 0 the checkpoint of the last stage's end is current; `start_stage` is repeated.
        stop = self._callback_stops or self.should_stop()
        if self.progress.steps and (due or stop):
            self.save()
        if stop:
            self._leave()

    def _leave(self) -> NoReturn:
        raise Interrupted(
            f"stopped at step {self.total_steps:,} of {self.spec.total_steps:,}; "
            "everything is saved"
        )

    def _choose_head(self) -> None:
        """Copy the old head that earned most in its turns, if more than random actions did."""
        turns = self.behaviour.turns(self.progress.stage)
        if not turns.heads:
            return
        rows = self.history.replay.new[:, : turns.steps]
        reward, terminated, truncated = map(np.asarray, self.agent.columns.split(rows)[2:5])
        ended = terminated + truncated > 0
        returns = turns.returns(reward, ended, self.schedule.environments)
        scores = means(returns)
        best = best_heads(scores)
        if self.spec.method.copies == "tested_policy":
            best = better_by_test(returns, best)
        self.flush_all()  # as a checkpoint may just have done, so that records keep their order
        self.store.append("training", score_records(scores, best, self.total_steps, self.task))
        copied = fleet.copy_best(self.agent, self.state, to_int32(self.task), best)
        self.state = reshard(copied)

    def _end_task(self) -> None:
        """Call the method's end-of-task hook and retrain, unless that has already been done."""
        progress = self.progress
        last = progress.stage == self.task_schedule.stages - 1
        if self.spec.hidden and not last:  # the learner knows of the end of the last task alone
            return
        if progress.retrained < 0:
            replay = self.history.replay
            self.state = reshard(fleet.end_task(self.agent, self.state, replay, self.view()))
            progress.retrained = 0
        updates = 0 if last else self.spec.method.retraining_updates
        if progress.retrained < updates:
            self.callback.on_activity("retraining")
        while progress.retrained < updates:
            self.update()
            progress.retrained += self.spec.settings.learner.updates_per_burst
            # No chunk is collected here, so without this wait all bursts would be queued at once.
            jax.block_until_ready(self.state)
            self._save_if_due()

    def _end_stage(self) -> None:
        """Archive the stage's transitions, write its policies and save the next stage's start."""
        number = self.progress.stage
        view = self.view()
        self.history.archive(
            view, lambda replay: fleet.archive(self.agent, self.state, replay, view)
        )
        for task in self.task_schedule.learned(number):
            self.write_policies(learned(task), [task])
        self.progress.stage, self.progress.steps, self.progress.retrained = number + 1, 0, -1
        self.save()
        self.callback.on_task_end(self.task_schedule.current(number))

    def flush(self) -> None:
        """Record and evaluate what was deferred; stop if no run is left."""
        super().flush()
        if len(self.progress.failed) < len(self.names):
            return
        self.recorder.write_networks(self.progress)
        self.evaluation.finish()  # does not stop for a signal: there is nothing to save any more
        self.store.finish(self.progress.failed, self.policy_files)
        cause = "Try other settings, such as a lower learning_rate: train"
        if tasks := ", ".join(self.recorder.broken_tasks):
            cause = f"{tasks} returned a number that is not finite: repair that, then train"
        raise NoRunLeftError(
            f"{failures(self.progress.failed)}. {cause} in another folder; {self.folder} keeps the "
            "records up to there"
        )
