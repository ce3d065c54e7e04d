"""A fleet in training: its parts, and the checkpoints that hold all of them.

Transitions, records and the policies of finished tasks are files: a checkpoint holds the stamps of
those that it needs, and is used only if all of them are whole.
"""

import dataclasses
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from recall.collect.messages import RunTasks
from recall.collect.pool import Pool
from recall.config.spec import FleetSpec
from recall.errors import RecallError
from recall.files.fleet_layout import REPLAY, records_file
from recall.files.stamps import Stamp, check_all, read_stamps
from recall.learn import fleet
from recall.nets.sharding import shard, to_int32
from recall.replay.batch import ReplayView
from recall.replay.history import History
from recall.runs.description import differences, identity, in_words, read_description
from recall.runs.policies import write_policies
from recall.runs.store import Store
from recall.training.agents import agent_of, collecting_workers
from recall.training.callbacks import Callback
from recall.training.checkpoint import Checkpoints, Metadata, Progress
from recall.training.evaluation import BackgroundEvaluation
from recall.training.programs import keep_programs
from recall.training.recorder import Recorder
from recall.worlds.workers import never

Array = np.ndarray


class TrainedFleet:
    """The parts of one fleet in one folder, which `save` and `restore` keep together."""

    def __init__(
        self,
        spec: FleetSpec,
        folder: Path,
        store: Store,
        callback: Callback,
        should_stop: Callable[[], bool] = never,
    ):
        """Build the fleet; `should_stop` is called between chunks and while episodes are played."""
        self.spec, self.folder, self.store, self.callback = spec, folder, store, callback
        self.schedule, self.task_schedule = spec.settings.schedule, spec.task_schedule
        self.names = [run.name for run in spec.runs]
        self.agent, state_size = agent_of(spec)
        self.progress = Progress()
        self.should_stop = should_stop
        self.recorder = Recorder(spec, store, callback)
        self.checkpoints = Checkpoints(folder)
        self.history = History(
            spec.learner_schedule,
            self.agent.columns,
            len(spec.runs),
            spec.replay_capacity,
            spec.method.memory_per_task,
            folder,
            self.schedule.environments,
            self.schedule.keep_replay,
        )
        self.state = shard(fleet.init(self.agent, jnp.array([run.own_seed for run in spec.runs])))
        self.pool = Pool(
            [RunTasks(run.own_seed, run.tasks) for run in spec.runs],
            spec.settings.world,
            fleet.policy_shape(self.agent),
            self.schedule,
            self.task_schedule,
            state_size,
            collecting_workers(spec),
            should_stop,
        )
        self.evaluation = BackgroundEvaluation(
            spec, fleet.policy_shape(self.agent), self.recorder.evaluation
        )
        self.saved_at = time.monotonic()  # of the newest checkpoint
        self._stage_saved = 0  # stage of the newest checkpoint
        self._started_as = identity(read_description(folder))
        # Files of finished tasks, which every later checkpoint needs.
        self.policy_files: dict[str, Stamp] = {}

    @property
    def total_steps(self) -> int:
        """Return the number of steps of each run since its start."""
        return self.task_schedule.steps_at(self.progress.stage, self.progress.steps)

    @property
    def task(self) -> int:
        """Return the number of the head whose transitions are the learner's new data."""
        return self.spec.learner_schedule.current(self.progress.stage)

    def view(self) -> ReplayView:
        """Return the learner's view of replay."""
        return self.history.view(self.progress.stage, self.total_steps)

    def policies(self, position: int) -> jax.Array:
        """Return the flat policies [run, size] that are evaluated on the task at `position`."""
        return fleet.flat_policies(self.agent, self.state, to_int32(self.spec.head(position)))

    def write_policies(self, label: str, tasks: Iterable[int]) -> None:
        """Write the policies of every run on these tasks."""
        flat = {task: np.asarray(self.policies(task)) for task in tasks}
        shape = fleet.policy_shape(self.agent)
        self.policy_files |= write_policies(self.folder, self.spec, shape, label, flat)

    def evaluate(self) -> None:
        """Copy the policies and measures of the networks; `flush` starts to evaluate them."""
        step = self.total_steps
        self.callback.on_evaluation_start(step)
        policies = list(map(self.policies, range(self.spec.tasks)))
        measured = None  # before the current task has transitions (multi-task)
        if self.spec.learner_schedule.collected(self.task, step):
            measured = fleet.plasticity(
                self.agent, self.state, self.history.replay, self.view(), to_int32(step)
            )
        for array in jax.tree.leaves((policies, measured)):
            array.copy_to_host_async()
        failed_at = jnp.copy(self.state.failed_at)  # the state itself goes into the next burst

        def begin() -> None:
            self.recorder.check_losses(self.progress, step, failed_at)
            if runs := self.recorder.alive(self.progress):
                self.evaluation.start(step, policies, runs)
                if measured is not None:
                    self.recorder.networks(self.progress, step, measured)

        self.recorder.defer(begin)
        self.progress.evaluated = step

    def flush(self) -> None:
        """Record the burst and start the evaluation that were deferred; wait for the device."""
        self.recorder.flush()

    def flush_all(self) -> None:
        """Record everything that was deferred, and wait until all of it is recorded."""
        self.flush()
        self.recorder.write_networks(self.progress)

    def save(self) -> None:
        """Write a checkpoint that includes everything deferred and the chunks being collected."""
        self.flush_all()
        self.pool.wait()
        arrays, waiting = self.pool.saved()
        snapshot, pending = self.evaluation.saved()
        metadata = {
            "progress": dataclasses.asdict(self.progress),
            "waiting": waiting,
            "evaluation": pending,
            "fleet": self._started_as,
            "records": self.store.sync(),
            "replay": self.history.sync(self.progress.stage),
            "policies": self.policy_files,
        }
        keep_programs(self.folder)
        self.checkpoints.save(self.state, arrays | snapshot, metadata)
        self.saved_at = time.monotonic()
        # Only this checkpoint and the previous one are kept.
        self.history.forget(before=self._stage_saved)
        self._stage_saved = self.progress.stage
        self.callback.on_checkpoint()

    def restore(self) -> list[str]:
        """Restore the newest whole checkpoint, or the start; return complaints about newer ones."""
        found = self.checkpoints.restore(self.state, self._check_files)
        if found is None:
            self.store.cut({})
            self.history.restore(0, {})
            return []
        learner, arrays, metadata, complaints = found
        self.progress = Progress(**metadata["progress"])
        self._stage_saved = self.progress.stage
        self.state = shard(learner)
        self.store.cut(read_stamps(metadata["records"]))
        if self.progress.stage < self.task_schedule.stages:
            self.history.restore(self.progress.stage, read_stamps(metadata["replay"]))
        self.policy_files = read_stamps(metadata["policies"])
        self.pool.restore(arrays, metadata["waiting"])
        self.evaluation.restore(arrays, metadata["evaluation"])
        if self.progress.steps:
            self.pool.begin(self.task_schedule.played(self.progress.stage), fresh=())
        return complaints

    def _check_files(self, metadata: Metadata) -> None:
        """Raise an error for another fleet's checkpoint, or if a file it needs is damaged."""
        if changes := differences(metadata["fleet"], self._started_as):
            raise RecallError(f"it belongs to another fleet: {in_words(changes)}")
        records = read_stamps(metadata["records"])
        check_all(self.folder, {records_file(name): stamp for name, stamp in records.items()})
        if metadata["progress"]["stage"] < self.task_schedule.stages:
            check_all(self.folder / REPLAY, read_stamps(metadata["replay"]))
        check_all(self.folder, read_stamps(metadata["policies"]))

    def close(self) -> None:
        """Stop the workers and close the files."""
        self.recorder.close()
        self.pool.close()
        self.evaluation.close()
        self.history.close()
        self.store.close()
