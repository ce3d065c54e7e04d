"""What the next chunk acts from: policies, on their way from the device to the workers."""

import jax
import numpy as np

from recall.clock import Clock
from recall.collect.pool import Wanted
from recall.learn import fleet
from recall.learn.build import Blueprint
from recall.learn.devices import sent
from recall.spec import FleetSpec
from recall.types import LearnerState

Policies = dict[int, jax.Array | None]  # by task: flat policies [run, size]; None acts uniformly


class Acting:
    """Chooses policies, or uniformly random actions, for the tasks of a chunk."""

    def __init__(self, spec: FleetSpec, blueprint: Blueprint):
        self._blueprint = blueprint
        self._course = spec.course
        self._uniform_steps = spec.settings.schedule.uniform_steps
        self._best_return = spec.method.best_return

    def policies(self, state: LearnerState, clock: Clock, ahead: int = 0) -> Policies:
        """Those of `state` for the next chunk, or for the one that starts `ahead` steps later.

        Their way to the host starts here.
        """
        stage, steps = clock.stage, clock.steps + ahead
        explores = stage == 0 or not self._best_return
        uniform = explores and steps < self._uniform_steps
        policies: Policies = {
            position: None
            if uniform and position in self._course.learnt(stage)
            else fleet.flat_policies(self._blueprint, state, sent(position), collecting=True)
            for position in self._course.chunk(stage, self._course.steps_at(stage, steps))
        }
        for flat in policies.values():
            if flat is not None:
                flat.copy_to_host_async()
        return policies

    def wanted(self, policies: Policies, clock: Clock) -> list[Wanted]:
        """The next chunk with these policies, which are waited for."""
        total = self._course.steps_at(clock.stage, clock.steps)
        return [
            Wanted(
                position,
                self._course.collected(position, total),
                None if flat is None else np.asarray(flat),
            )
            for position, flat in policies.items()
        ]


def are_ready(policies: Policies) -> bool:
    """Whether nobody would wait for them."""
    computed = [flat for flat in policies.values() if flat is not None]
    return all(flat.is_ready() for flat in computed)  # type: ignore[attr-defined]
