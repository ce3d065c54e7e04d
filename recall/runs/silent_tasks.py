"""Tasks that do not report success, as run.json names them.

The list in run.json comes from one random episode of each task.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from recall.errors import RecallError
from recall.runs.description import read_description

KEY = "without_success"
"""Key of run.json: the names of the tasks that do not report success. It may be absent."""


def silent_tasks(description: Mapping[str, Any], tasks: Sequence[str]) -> tuple[str, ...]:
    """Return those of the given tasks that do not report success."""
    listed = description.get(KEY)
    named = listed if isinstance(listed, list) else []
    return tuple(task for task in dict.fromkeys(tasks) if task in named)


def silent_tasks_in(folder: Path) -> tuple[str, ...]:
    """Return the tasks of the fleet in a folder that do not report success."""
    try:
        description = read_description(folder)
        return tuple(description.get(KEY) or ())
    except (RecallError, OSError, ValueError, TypeError, AttributeError):
        return ()
