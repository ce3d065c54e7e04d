"""How many worker processes a fleet has: the setting `workers`, or what suits the machine."""

from recall.collect.cores import cores
from recall.collect.pool import default_workers
from recall.config.spec import FleetSpec


def collecting_workers(spec: FleetSpec) -> int:
    """Return the number of processes that collect."""
    schedule = spec.settings.schedule
    return schedule.workers or default_workers(len(spec.runs) * schedule.environments)


def evaluation_workers(spec: FleetSpec) -> int:
    """Return the number of processes that play evaluations: at most one for each run and task."""
    return min(spec.settings.schedule.workers or cores(), len(spec.runs) * spec.tasks)
