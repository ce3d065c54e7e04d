"""Find the folders of fleets below a folder."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from recall.files.atomic import is_hidden, temporary_of
from recall.files.fleet_layout import (
    ARCHIVE_NOTE,
    DESCRIPTION,
    LOCK,
    OUTCOME,
    RECORDS,
    records_file,
)
from recall.files.reading import XZ

FLEET = DESCRIPTION
LOG = "progress.tsv"  # written by Continual World's own code
TRACES, EMPTY = "traces", "empty"
# A folder with one of these files was started as a fleet's folder.
_TRACES = {
    LOCK,
    temporary_of(Path(DESCRIPTION)).name,
    OUTCOME,
    ARCHIVE_NOTE,
    *(f"{records_file(name)}{suffix}" for name in RECORDS for suffix in ("", XZ)),
}


def folders_below(top: Path, unreadable: Callable[[OSError], None]) -> Iterator[tuple[Path, str]]:
    """Yield every folder from `top` downwards that holds runs, traces of a fleet or nothing.

    The second value is FLEET, LOG, TRACES or EMPTY. Links are followed, each folder once. Archives
    that are being written, or were when their process was killed, are passed by.
    """
    walked: set[str] = set()  # links may form a cycle
    for where, below, files in os.walk(top, onerror=unreadable, followlinks=True):
        folder = Path(where)
        if os.path.realpath(where) in walked:
            below.clear()
            continue
        walked.add(os.path.realpath(where))
        below[:] = sorted(name for name in below if not is_hidden(name))
        kind = next((name for name in (FLEET, LOG) if name in files), None)
        if kind:
            below.clear()  # checkpoints and policies hold no further runs
            yield folder, kind
        elif _TRACES.intersection(files):
            below.clear()
            yield folder, TRACES
        elif not files and not below:
            yield folder, EMPTY
