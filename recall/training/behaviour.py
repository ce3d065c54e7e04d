"""The policies that collect the next chunk, and their transfer from the device to the workers."""

import jax

from recall.collect.pool import ChunkRequest
from recall.config.spec import FleetSpec
from recall.learn import fleet
from recall.learn.agent import Agent
from recall.learn.state import LearnerState
from recall.nets.sharding import as_argument
from recall.training.progress import Progress
from recall.training.start import Turns
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
        self._lag_steps = self._schedule.policy_lag * chunk
        longest = [
            max(horizon_steps(run.tasks[stage], spec.settings.world) for run in spec.runs)
            for stage in range(spec.task_schedule.stages)
        ]
        # Whole episodes of all environments, in whole chunks.
        self._turn_steps = [
            -(-each * self._schedule.environments // chunk) * chunk for each in longest
        ]

    def policies(self, state: LearnerState, progress: Progress, ahead: int = 0) -> Policies:
        """Return the policies of `state` for the chunk that starts `ahead` steps from now.

        With `ahead=0` that is the next chunk. The copy to the host is started, not waited for.
        """
        stage, steps = progress.stage, progress.steps + ahead
        turns = self.turns(stage)
        # Chunks that are ordered ahead of the choice of a head are the last of the turns.
        starting = steps < turns.steps + (self._lag_steps if turns.heads else 0)
        policies: Policies = {
            position: self._starting(state, turns.actor(steps))
            if starting and position in self._task_schedule.learnt(stage)
            else fleet.flat_policies(self._agent, state, as_argument(position), collecting=True)
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
        return Turns(heads, self._turn_steps[stage], self._schedule.random_steps, random)

    def _starting(self, state: LearnerState, actor: int) -> jax.Array | None:
        """Return the policies of an old head; None stands for random actions."""
        return None if actor < 0 else fleet.flat_policies(self._agent, state, as_argument(actor))

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
