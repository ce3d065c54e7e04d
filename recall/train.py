"""Training a fleet: the one place that sees worlds, replay, learner, evaluation and results.

A fleet moves chunk by chunk, all runs in lockstep:

    wait for the chunk that workers roll -> append it to replay -> burst of updates
    (meanwhile, with overlap, the workers roll the next chunk with the policies of before)

Between two chunks everything that decides the future is in `LearnerState`, the replay log, the
simulators' states and `Clock`: that is what a checkpoint holds.
"""

import dataclasses
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from recall import replay as buffers
from recall.checkpoint import Checkpoints, TransitionLog
from recall.collect.orders import RunTasks
from recall.collect.pool import Pool
from recall.errors import RecallError
from recall.evaluate import evaluate, score_heads
from recall.learn import fleet
from recall.results.store import Store
from recall.spec import FleetSpec, blueprint_of
from recall.types import LearnerState, Stage
from recall.watch import Watcher

Array = np.ndarray


class Interrupted(RecallError):  # noqa: N818  (it is no error to stop)
    """Asked to stop; all is saved."""


@dataclass
class Clock:
    """Where the fleet stands, in plain numbers."""

    task: int = 0
    steps: int = 0  # of the current task, appended to replay
    updates: int = 0  # of the whole run
    evaluated: int = -1  # total steps at the last evaluation
    old_sizes: list[int] = dataclasses.field(default_factory=list)
    failed: dict[str, int] = dataclasses.field(default_factory=dict)  # run -> total step
    episodes: list[list[Any]] = dataclasses.field(default_factory=list)  # ended since recorded


class Trainer:
    """Trains one fleet in one folder."""

    def __init__(self, spec: FleetSpec, folder: Path, store: Store, watcher: Watcher):
        self.spec, self.folder, self.store, self.watcher = spec, folder, store, watcher
        self.schedule = spec.settings.schedule
        self.blueprint, state_size = blueprint_of(spec)
        self.names = [run.name for run in spec.runs]
        self.capacity = min(self.schedule.replay_capacity, spec.steps_per_task)
        self.memory = self._memory_per_task()
        columns = self.blueprint.columns
        self.log = TransitionLog(folder, len(spec.runs), self.schedule.chunk_steps, columns.width)
        self.checkpoints = Checkpoints(folder)
        self.clock = Clock()
        self.stop_requested = False
        self.state = fleet.init(self.blueprint, jnp.array([run.seed for run in spec.runs]))
        self.replay = buffers.init(
            columns, self.capacity, self._tasks_kept(), self.memory, len(spec.runs)
        )
        self.pool = Pool(
            [RunTasks(run.seed, run.tasks) for run in spec.runs],
            spec.settings.world,
            fleet.policy_shape(self.blueprint),
            self.schedule.chunk_steps,
            state_size,
            self.schedule.workers or default_workers(),
        )
        self._in_flight = False
        self._pending: tuple[Array, list[Any]] | None = None
        self._saved_at = time.monotonic()

    # What the method keeps of old tasks.

    def _tasks_kept(self) -> int:
        return self.spec.tasks - 1 if self.spec.method.keeps() else 0

    def _memory_per_task(self) -> int:
        kept = self.spec.method.memory_per_task
        return self.capacity if kept is None else min(kept, self.capacity)

    def stage(self) -> Stage:
        """The learner's view of the clock."""
        filled = min(self.clock.steps, self.capacity)
        sizes = np.zeros(self.spec.tasks, np.int32)
        sizes[: len(self.clock.old_sizes)] = self.clock.old_sizes
        return Stage(jnp.asarray(self.clock.task), jnp.asarray(filled), jnp.asarray(sizes))

    @property
    def total_steps(self) -> int:
        """Steps of each run since its start."""
        return self.clock.task * self.spec.steps_per_task + self.clock.steps

    def policies(self, position: int) -> Array:
        """Flat policies [run, size] of the task at `position`; failed runs act from zeros."""
        flat = fleet.flat_policies(self.blueprint, self.state, jnp.asarray(position))
        return np.nan_to_num(np.asarray(flat), posinf=0.0, neginf=0.0)

    # The loop.

    def run(self) -> None:
        """Train to the end, or until asked to stop."""
        while self.clock.task < self.spec.tasks:
            if self.clock.steps == 0:
                self._start_task()
            while self.clock.steps < self.spec.steps_per_task:
                self._advance()
                self._between_chunks()
            self._end_task()
        self._save_policies("final", range(self.spec.tasks))
        self.store.finish({"finished": True, "failed": self.clock.failed})

    def _start_task(self) -> None:
        task = self.clock.task
        best = np.full(len(self.names), -1)
        if task and self.spec.method.best_return:
            scores = score_heads(
                self.pool, self.spec.runs, self.policies, task, self.schedule.scoring_episodes
            )
            best = np.argmax(scores, axis=1)
            self.store.append("training", _score_records(scores, best, self.total_steps, task))
        self.state = fleet.start_task(
            self.blueprint, self.state, jnp.asarray(task), jnp.asarray(best)
        )
        self.pool.begin_task(task)

    def _advance(self) -> None:
        """One chunk: append it, order the next, learn."""
        if not self._in_flight and self._pending is None:
            self._order()
        rows, ended = self._settle()
        self._pending = None
        position = self.clock.steps % self.capacity
        self.replay = fleet.append(self.replay, jnp.asarray(rows), jnp.asarray(position))
        self.log.append(self.clock.task, rows)
        self.clock.steps += self.schedule.chunk_steps
        self.clock.episodes += [
            [run, outcome.success, outcome.episode_return] for run, outcome in ended
        ]
        more = self.clock.steps < self.spec.steps_per_task
        early = None
        if more and self.schedule.overlap and not self._acts_uniformly():
            early = fleet.flat_policies(self.blueprint, self.state, jnp.asarray(self.clock.task))
        metrics = self._learn() if self.clock.steps >= self.schedule.update_after else None
        if more:
            self._order(early)
        if self.clock.steps % self.schedule.record_every == 0:
            self._record(metrics)

    def _acts_uniformly(self) -> bool:
        explores = self.clock.task == 0 or not self.spec.method.best_return
        return explores and self.clock.steps < self.schedule.uniform_steps

    def _order(self, policies: Any = None) -> None:
        if self._acts_uniformly():
            self.pool.order_chunk(None, self.clock.steps)
        elif policies is None:
            self.pool.order_chunk(self.policies(self.clock.task), self.clock.steps)
        else:
            flat = np.nan_to_num(np.asarray(policies), posinf=0.0, neginf=0.0)
            self.pool.order_chunk(flat, self.clock.steps)
        self._in_flight = True

    def _settle(self) -> tuple[Array, list[Any]]:
        """The chunk in flight, waited for; or the one that waits already."""
        if self._pending is None:
            self._pending = self.pool.wait_chunk()
            self._in_flight = False
        return self._pending

    def _learn(self) -> Any:
        updates = self.spec.settings.learner.updates_per_burst
        self.state, metrics = fleet.burst(
            self.blueprint,
            self.state,
            self.replay,
            self.stage(),
            jnp.asarray(self.clock.updates),
            fleet.groups_of(self.blueprint, self.clock.task),
            updates,
        )
        self.clock.updates += updates
        return metrics

    def _between_chunks(self) -> None:
        self.watcher.on_steps(self.total_steps)
        if self.clock.steps % self.schedule.evaluate_every == 0:
            self._evaluate()
        due = time.monotonic() - self._saved_at > 60.0 * self.schedule.checkpoint_minutes
        if due or self.stop_requested:
            self.save()
        if self.stop_requested:
            raise Interrupted(
                f"stopped at step {self.total_steps} of {self._all_steps()}; all is saved"
            )

    def _all_steps(self) -> int:
        return self.spec.tasks * self.spec.steps_per_task

    def _evaluate(self) -> None:
        if self.clock.evaluated == self.total_steps:
            return
        if self._in_flight:
            self._settle()
        self._check_failures()
        records: list[dict[str, Any]] = []
        for record in evaluate(
            self.pool,
            self.spec.runs,
            self.policies,
            self.total_steps,
            self.schedule.evaluation_episodes,
        ):
            records.append(record)
            if self.stop_requested:  # done again, with the same outcome, after resuming
                return
        alive = [record for record in records if self.names[record["run"]] not in self.clock.failed]
        self.store.append("evaluations", alive)
        self.clock.evaluated = self.total_steps
        self.watcher.on_evaluation(self.total_steps, alive)

    def _record(self, metrics: Any) -> None:
        self._check_failures()
        values = jax.tree.map(np.asarray, metrics) if metrics is not None else {}
        records = []
        for index, name in enumerate(self.names):
            if name in self.clock.failed:
                continue
            mine = [episode for episode in self.clock.episodes if episode[0] == index]
            record: dict[str, Any] = {"run": index, "step": self.total_steps}
            if mine:
                record["episode_success"] = float(np.mean([episode[1] for episode in mine]))
                record["episode_return"] = float(np.mean([episode[2] for episode in mine]))
            record |= {key: value[index].tolist() for key, value in values.items()}
            records.append(record)
        self.clock.episodes = []
        self.store.append("training", records)
        self.watcher.on_training(records)

    def _check_failures(self) -> None:
        for name, update in fleet.failures(self.state, self.names).items():
            if name in self.clock.failed:
                continue
            self.clock.failed[name] = self.total_steps
            self.watcher.on_message(
                f"run {name} failed: a number in its data or losses was not finite at update "
                f"{update}, before step {self.total_steps}; the other runs go on"
            )
        if len(self.clock.failed) == len(self.names):
            self.store.finish({"finished": False, "failed": self.clock.failed})
            raise RecallError(f"all runs failed: {self.clock.failed}")

    def _end_task(self) -> None:
        task, stage = self.clock.task, self.stage()
        self._evaluate()
        self.state = fleet.end_task(self.blueprint, self.state, self.replay, stage)
        for _ in range(0, self.spec.method.retraining_updates, self._burst_size()):
            self._learn()
        if self.spec.method.retraining_updates:
            self.state = fleet.end_retraining(self.blueprint, self.state, jnp.asarray(task))
        if task < self._tasks_kept():
            self._retire(stage)
        self._save_policies(f"task-{task}", [task])
        self.clock.task, self.clock.steps = task + 1, 0
        self.clock.old_sizes.append(min(self.memory, int(stage.new_size)))
        self.save()
        if not (task < self._tasks_kept() and self.memory == self.capacity):
            self.log.forget(task)
        self.watcher.on_task_end(task)

    def _burst_size(self) -> int:
        return self.spec.settings.learner.updates_per_burst

    def _retire(self, stage: Stage) -> None:
        self.replay = fleet.retire(self.blueprint, self.state, self.replay, stage)
        kept = np.asarray(self.replay.old[:, int(stage.task)])
        self.log.keep(int(stage.task), kept, whole=self.memory == self.capacity)

    # Checkpoints.

    def _arrays(self) -> dict[str, Any]:
        runs, chunk = len(self.names), self.schedule.chunk_steps
        rows = np.zeros((runs, chunk, self.blueprint.columns.width), np.float32)
        return {
            "learner": self.state,
            "worlds": self.pool.states(),
            "pending": self._pending[0] if self._pending else rows,
        }

    def save(self) -> None:
        """Write a checkpoint; the chunk in flight is waited for and goes into it."""
        if self._in_flight:
            self._settle()
        self.log.sync()
        ended = [[run, *outcome] for run, outcome in self._pending[1]] if self._pending else None
        facts = {
            "clock": dataclasses.asdict(self.clock),
            "records": self.store.sync(),
            "ended": ended,
        }
        number = self.clock.updates + self.total_steps
        self.checkpoints.save(number, self._arrays(), facts)
        self._saved_at = time.monotonic()

    def restore(self) -> list[str]:
        """Go back to the newest whole checkpoint; returns what was wrong with newer ones."""
        from recall.worlds.episodes import Outcome

        arrays, facts, complaints = self.checkpoints.restore(self._arrays())
        self.clock = Clock(**facts["clock"])
        self.state = LearnerState(*jax.tree.map(jnp.asarray, arrays["learner"]))
        self.store.cut(facts["records"])
        self.log.cut(self.clock.task, self.clock.steps // self.schedule.chunk_steps)
        whole = self.memory == self.capacity
        old = np.array(self.replay.old)
        for task in range(min(self.clock.task, self._tasks_kept())):
            old[:, task] = self.log.read_kept(task, whole, self.capacity)
        new = self.log.read(self.clock.task, self.capacity)
        self.replay = buffers.Replay(jnp.asarray(new), jnp.asarray(old))
        if self.clock.steps:
            self.pool.begin_task(self.clock.task, arrays["worlds"])
        if facts["ended"] is not None:
            ended = [(item[0], Outcome(*item[1:])) for item in facts["ended"]]
            self._pending = (arrays["pending"], ended)
        return complaints

    def _save_policies(self, label: str, positions: Iterable[int]) -> None:
        flat = {f"task_{position}": self.policies(position) for position in positions}
        for index, name in enumerate(self.names):
            folder = self.folder / "policies" / name
            folder.mkdir(parents=True, exist_ok=True)
            temporary = folder / f"{label}.tmp.npz"
            np.savez(temporary, **{key: value[index] for key, value in flat.items()})
            temporary.replace(folder / f"{label}.npz")

    def close(self) -> None:
        """Release workers and files."""
        self.pool.close()
        self.log.close()
        self.store.close()
        self.checkpoints.close()


def _score_records(scores: Array, best: Array, step: int, task: int) -> list[dict[str, Any]]:
    return [
        {
            "run": run,
            "step": step,
            "position": task,
            "head_returns": scores[run].tolist(),
            "best_head": int(best[run]),
        }
        for run in range(len(scores))
    ]


def default_workers() -> int:
    """One per core."""
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
