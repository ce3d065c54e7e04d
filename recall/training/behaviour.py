"""The policies that collect the next chunk, and their transfer from the device to the workers."""

import jax

from recall.collect.pool import ChunkRequest
from recall.config.spec import FleetSpec
from recall.errors import BadValueError
from recall.learn import fleet
from recall.learn.agent import Agent, LearnerState
from recall.nets.sharding import to_int32
from recall.training.progress import Progress
from recall.training.start import Turns, turn_steps
from recall.worlds.registry import horizon_steps

# Flat policies [run, size] by task; None stands for uniformly random actions.
Policies = dict[int, jax.Array | None]


def only_random(spec: FleetSpec) -> str | None:
    """Return a warning if no policy of a fleet acts in its first stage, or None."""
    random, steps = spec.settings.schedule.random_steps, spec.task_schedule.steps_per_stage
    if random < steps:
        return None
    what = "the first task" if spec.task_schedule.stages > 1 else "training"
    return (
        f"warning: random_steps is {random:,}, so all {steps:,} steps of {what} are random and no "
        f"policy acts in it: choose fewer, such as random_steps {steps // 10}"
    )


class Behaviour:
    """Chooses policies, or uniformly random actions, for the tasks of a chunk."""

    def __init__(self, spec: FleetSpec, agent: Agent):
        self._agent = agent
        self._task_schedule = spec.task_schedule
        self._schedule = spec.settings.schedule
        self._method = spec.method
        chunk = self._schedule.chunk_steps
        # Chunks that are ordered before a head is chosen still belong to the turns.
        self._ordered_steps = (self._schedule.policy_lag + 1) * chunk
        longest = [
            max(horizon_steps(run.tasks[stage], spec.settings.world) for run in spec.runs)
            for stage in range(spec.task_schedule.stages)
        ]
        self._turn_steps = [
            turn_steps(horizon * self._schedule.environments, chunk) for horizon in longest
        ]
        self._check_replay()

    def _check_replay(self) -> None:
        """Refuse a replay that cannot hold the turns, from which old heads are scored."""
        capacity = self._schedule.replay_capacity
        for stage in range(1, self._task_schedule.stages):
            turns = self.turns(stage)
            if turns.heads and turns.steps > capacity:
                raise BadValueError(
                    f"replay_capacity is {capacity}, but old heads take turns in the first "
                    f"{turns.steps} steps of a task: choose a larger replay_capacity, or "
                    "best_return=False"
                )

    def policies(self, state: LearnerState, progress: Progress, ahead: int = 0) -> Policies:
        """Return the policies of `state` for the chunk that starts `ahead` steps from now.

        With `ahead=0` that is the next chunk. The copy to the host is started, not waited for.
        """
        stage, steps = progress.stage, progress.steps + ahead
        turns = self.turns(stage)
        starting = steps < turns.steps + (self._ordered_steps if turns.heads else 0)
        policies: Policies = {
            position: self._starting(state, turns.actor(steps))
            if starting and position in self._task_schedule.learnt(stage)
            else fleet.flat_policies(self._agent, state, to_int32(position), collecting=True)
            for position in self._task_schedule.chunk(
                stage, self._task_schedule.steps_at(stage, steps)
            )
        }
        for flat in policies.values():
            if flat is not None:
                flat.copy_to_host_async()
        return policies

    def turns(self, stage: int) -> Turns:
        """Return who acts in the first steps of a stage."""
        heads = stage if self._method.best_return else 0
        random = self._method.copies == "better_policy"
        steps = self._schedule.random_steps
        if heads:  # at least one turn for each, in whole chunks
            chunk = self._schedule.chunk_steps
            steps = max(-(-steps // chunk) * chunk, (heads + random) * self._turn_steps[stage])
        return Turns(heads, self._turn_steps[stage], steps, random)

    def _starting(self, state: LearnerState, actor: int) -> jax.Array | None:
        """Return the policies of an old head; None stands for random actions."""
        return None if actor < 0 else fleet.flat_policies(self._agent, state, to_int32(actor))

    def requests(
        self, policies: Policies, progress: Progress, ahead: int = 0
    ) -> list[ChunkRequest]:
        """Return the requests for the chunk that starts `ahead` steps from now.

        Its policies may still be on their way.
        """
        total = self._task_schedule.steps_at(progress.stage, progress.steps + ahead)
        return [
            ChunkRequest(position, self._task_schedule.collected(position, total), flat)
            for position, flat in policies.items()
        ]
