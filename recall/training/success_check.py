"""Play an episode of every task of the user's, to find those that may not report success."""

from collections.abc import Sequence

from recall.config.spec import FleetSpec
from recall.errors import RecallError
from recall.worlds.gym_world import reports_success
from recall.worlds.registry import Task, horizon_steps, is_gymnasium, task_label
from recall.worlds.simulator import TaskFailedError


def tasks_without_success(spec: FleetSpec) -> list[str]:
    """Return the names of the tasks whose environments showed no success in one episode.

    One episode of every Gymnasium environment is played, apart from training. An environment may
    still report success once it is reached. The tasks of this package always report success. An
    environment that raises an exception, or does not answer as Gymnasium's do, is refused.
    """
    tasks: dict[str, Task] = {}
    for run in spec.runs:
        tasks |= {task_label(task): task for task in run.tasks if is_gymnasium(task)}
    world = spec.settings.world
    return [name for name, task in tasks.items() if _is_silent(task, horizon_steps(task, world))]


def _is_silent(task: Task, steps: int) -> bool:
    try:
        return not reports_success(task, steps)
    except RecallError:  # it names the task already
        raise
    except Exception as error:
        raise TaskFailedError(
            f"task {task_label(task)} failed in an episode that is played before training: "
            f"{type(error).__name__}: {error}. Repair its environment"
        ) from error


def warning(tasks: Sequence[str]) -> str:
    """Return what to tell the user about tasks without success."""
    return (
        f'warning: {", ".join(tasks)}: one random episode of each showed no info["success"] or '
        'info["is_success"], so progress shows returns. If success is never reported, it is '
        "recorded as 0, and reports show returns of these tasks instead"
    )
