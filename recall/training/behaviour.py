"""What the next chunk acts from: policies, on their way from the device to the workers."""

import jax
import numpy as np

from recall.collect.pool import ChunkRequest
from recall.config.spec import FleetSpec
from recall.learn import fleet
from recall.learn.agent import Agent
from recall.learn.state import LearnerState
from recall.nets.sharding import as_argument
from recall.training.progress import Progress

Policies = dict[int, jax.Array | None]  # by task: flat policies [run, size]; None acts uniformly


class Behaviour:
    """Chooses policies, or uniformly random actions, for the tasks of a chunk."""

    def __init__(self, spec: FleetSpec, agent: Agent):
        self._agent = agent
        self._task_schedule = spec.task_schedule
        self._random_steps = spec.settings.schedule.random_steps
        self._best_return = spec.method.best_return

    def policies(self, state: LearnerState, progress: Progress, ahead: int = 0) -> Policies:
        """Those of `state` for the next chunk, or for the one that starts `ahead` steps later.

        Their way to the host starts here.
        """
        stage, steps = progress.stage, progress.steps + ahead
        explores = stage == 0 or not self._best_return
        uniform = explores and steps < self._random_steps
        policies: Policies = {
            position: None
            if uniform and position in self._task_schedule.learnt(stage)
            else fleet.flat_policies(self._agent, state, as_argument(position), collecting=True)
            for position in self._task_schedule.chunk(
                stage, self._task_schedule.steps_at(stage, steps)
            )
        }
        for flat in policies.values():
            if flat is not None:
                flat.copy_to_host_async()
        return policies

    def requests(self, policies: Policies, progress: Progress) -> list[ChunkRequest]:
        """The next chunk with these policies, which are waited for."""
        total = self._task_schedule.steps_at(progress.stage, progress.steps)
        return [
            ChunkRequest(
                position,
                self._task_schedule.collected(position, total),
                None if flat is None else np.asarray(flat),
            )
            for position, flat in policies.items()
        ]


def are_ready(policies: Policies) -> bool:
    """Whether nobody would wait for them."""
    computed = [flat for flat in policies.values() if flat is not None]
    return all(flat.is_ready() for flat in computed)  # type: ignore[attr-defined]
