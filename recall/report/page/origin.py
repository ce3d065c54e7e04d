"""Say when and with what a report was made, and where its runs come from."""

import os
import time
from collections.abc import Iterable

from recall.analysis.run_result import RunResult
from recall.runs.wording import few
from recall.version import version

_MOST = 3


def origin(runs: Iterable[RunResult]) -> str:
    """Return the date and version of the report, and versions and machines of the runs.

    SOURCE_DATE_EPOCH stands for the time in reproducible builds.
    """
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    moment = time.gmtime(int(seconds) if seconds else None)
    made = f"Made on {moment.tm_mday} {time.strftime('%B %Y at %H:%M UTC', moment)}"
    versions: dict[str, None] = {}
    machines: dict[str, None] = {}
    for run in runs:
        git, machine = (run.description.get(name) or {} for name in ("git", "machine"))
        if found := (run.description.get("versions") or {}).get("recall"):
            commit = (git.get("commit") or "")[:8]
            changes = " with changes" if git.get("dirty") else ""
            versions[f"recall {found}" + (f" (commit {commit}{changes})" if commit else "")] = None
        if device := ", ".join(machine.get("accelerators") or ()) or machine.get("processor"):
            machines[str(device)] = None
    trained = ""
    if versions:
        where = f" on {few(machines, _MOST)}" if machines else ""
        trained = f" The runs were trained with {few(versions, _MOST)}{where}."
    return f"{made} with recall {version()}.{trained}"
