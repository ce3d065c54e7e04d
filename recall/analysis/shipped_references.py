"""Single-task runs that are shipped with the package, for forward transfer without training them.

They are an archive (recall.runs.archive) in the folder `shipped`, and are read at first use.
"""

from functools import cache
from pathlib import Path

from recall.analysis.naming import labelled
from recall.analysis.references import is_reference
from recall.analysis.run_result import RunResult
from recall.analysis.search import read_all

FOLDER = Path(__file__).with_name("shipped")


def shipped_references() -> tuple[RunResult, ...]:
    """Return the complete single-task runs of plain SAC that are shipped with the package."""
    return _read(FOLDER)


@cache
def _read(folder: Path) -> tuple[RunResult, ...]:
    runs, _ = read_all([folder])
    return tuple(filter(is_reference, labelled(runs)))
