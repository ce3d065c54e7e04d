"""Find tasks that never say whether an episode succeeded, before a fleet trains on them."""

from collections.abc import Sequence

from recall.config.spec import FleetSpec
from recall.worlds.gym_world import reports_success
from recall.worlds.registry import Task, horizon_steps, is_gymnasium, task_label


def tasks_without_success(spec: FleetSpec) -> list[str]:
    """Return the names of the tasks whose environments do not report success.

    One episode of every Gymnasium environment is played, apart from training. The tasks of this
    package always report success.
    """
    tasks: dict[str, Task] = {}
    for run in spec.runs:
        tasks |= {task_label(task): task for task in run.tasks if is_gymnasium(task)}
    world = spec.settings.world
    return [name for name, task in tasks.items() if _is_silent(task, horizon_steps(task, world))]


def _is_silent(task: Task, steps: int) -> bool:
    try:
        return not reports_success(task, steps)
    except Exception:  # training will meet the same error, and report it with its task
        return False


def warning(tasks: Sequence[str]) -> str:
    """Return what to tell the user about tasks without success."""
    verb, whose = ("does", "its") if len(tasks) == 1 else ("do", "their")
    return (
        f'warning: {", ".join(tasks)} {verb} not report success (info["success"] or '
        f'info["is_success"]): {whose} success is recorded as 0, and progress and reports show '
        "returns instead"
    )
