"""Find the folders of fleets below a folder."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from recall.files.atomic import is_hidden
from recall.files.fleet_layout import DESCRIPTION, LOCK, OUTCOME, RECORDS, records_file
from recall.files.reading import XZ

FLEET = DESCRIPTION
LOG = "progress.tsv"  # written by Continual World's own code
TRACES = "traces"
# A folder with one of these files was started as a fleet's folder.
_TRACES = {LOCK, OUTCOME, *(records_file(name) + end for name in RECORDS for end in ("", XZ))}


def folders_below(top: Path, unreadable: Callable[[OSError], None]) -> Iterator[tuple[Path, str]]:
    """Yield every folder from `top` downwards that holds runs or traces of a fleet.

    The second value is FLEET, LOG or TRACES. Links are followed, each folder once. Archives that
    are being written, or were when their process was killed, are passed by.
    """
    walked: set[str] = set()  # links may form a cycle
    for where, below, files in os.walk(top, onerror=unreadable, followlinks=True):
        kind = next((name for name in (FLEET, LOG) if name in files), None)
        if kind is None and _TRACES.intersection(files):
            kind = TRACES
        # Checkpoints and policies hold no further runs.
        seen = os.path.realpath(where) in walked
        below[:] = [] if kind or seen else sorted(name for name in below if not is_hidden(name))
        walked.add(os.path.realpath(where))
        if kind and not seen:
            yield Path(where), kind
