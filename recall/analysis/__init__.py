"""Results: records in one versioned schema, and the metrics computed from them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal


def frame(
    folders: Iterable[str | Path] | str | Path,
    table: Literal["evaluations", "runs"] = "evaluations",
) -> Any:
    """Return every evaluation, or every run, below some folders as a pandas DataFrame.

    `evaluations` has a row for each run, step, task and mode; `runs` has a row for each run, with
    its metrics and settings. Folders that cannot be read are left out.
    """
    from recall.analysis.tidy import frame as made

    return made(folders, table)
