"""The agent of a fleet, from its spec and the sizes of its tasks, and the check of its method."""

from functools import lru_cache

from recall.collect.transition import task_sizes
from recall.config.spec import FleetSpec
from recall.learn.agent import Agent
from recall.learn.contract import check_contract


@lru_cache(maxsize=4)  # needed to check a fleet, and again to train it
def agent_of(spec: FleetSpec) -> tuple[Agent, int]:
    """Return the fleet's agent and the size of the largest simulator state."""
    tasks = dict.fromkeys(task for run in spec.runs for task in run.tasks)
    columns, state_size = task_sizes(tuple(tasks), spec.settings.world)
    return Agent(spec.method, spec.settings.learner, columns, spec.tasks), state_size


def check_method(spec: FleetSpec) -> None:
    """Raise BadValueError if a method of the user's breaks the contract of methods.

    Those of the package are checked by its tests; tracing them at every start would take a second.
    """
    if type(spec.method).__module__.partition(".")[0] != __name__.partition(".")[0]:
        check_contract(agent_of(spec)[0])
