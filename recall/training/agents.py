"""What follows from a fleet's spec: its agent, its worker processes, and checks of user code."""

from functools import lru_cache

import numpy as np

from recall.collect.pool import cores, default_workers
from recall.collect.transition import Columns
from recall.config.spec import FleetSpec
from recall.errors import BadValueError, RecallError, described
from recall.learn.agent import Agent
from recall.learn.contract import check_contract
from recall.settings.scalars import with_scalars
from recall.worlds.gym_world import reports_success
from recall.worlds.registry import horizon_steps, is_gymnasium, task_label
from recall.worlds.slots import sizes_of


@lru_cache(maxsize=4)  # needed to check a fleet, and again to train it
def agent_of(spec: FleetSpec) -> tuple[Agent, int]:
    """Return the fleet's agent and the size of the largest simulator state.

    Scalars of which every run has its own value are arrays [run].
    """
    tasks = dict.fromkeys(task for run in spec.runs for task in run.tasks)
    spaces, state_size = sizes_of(tuple(tasks), spec.settings.world)
    columns = Columns(spaces.observation.shape[0], spaces.action.shape[0])
    agent = Agent(spec.method, spec.settings.learner, columns, spec.learner_schedule.tasks)
    own = {
        name.replace("settings.learner.", "settings."): np.array(
            [dict(run.own)[name] for run in spec.runs], np.float32
        )
        for name, _ in spec.runs[0].own
    }
    return with_scalars(agent, own), state_size


def collecting_workers(spec: FleetSpec) -> int:
    """Return the number of processes that collect."""
    schedule = spec.settings.schedule
    return schedule.workers or default_workers(len(spec.runs) * schedule.environments)


def evaluation_workers(spec: FleetSpec) -> int:
    """Return the number of processes that play evaluations: at most one for each run and task."""
    return min(spec.settings.schedule.workers or cores(), len(spec.runs) * spec.tasks)


def check_method(spec: FleetSpec) -> None:
    """Raise BadValueError if a method of the user's breaks the contract of methods.

    Those of the package are checked by its tests; tracing them at every start would take a second.
    """
    if type(spec.method).__module__.startswith("recall."):
        return
    try:
        check_contract(agent_of(spec)[0])
    except RecallError:
        raise
    except Exception as error:
        raise BadValueError(
            f"method {spec.method.name} failed when it was traced before training: "
            f"{described(error)}"
        ) from error


def tasks_without_success(spec: FleetSpec) -> list[str]:
    """Return the names of the tasks whose environments showed no success in one episode.

    One random episode of every Gymnasium environment is played, which refuses those that fail.
    """
    tasks = {task_label(task): task for run in spec.runs for task in run.tasks}
    world = spec.settings.world
    return [
        name
        for name, task in tasks.items()
        if is_gymnasium(task) and not reports_success(task, horizon_steps(task, world))
    ]
