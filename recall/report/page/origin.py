"""Say at the top of the page when and with what the report was made, and where runs come from."""

import os
import time
from collections.abc import Iterable

from recall.analysis.run_result import RunResult
from recall.report.page.markup import text
from recall.runs.wording import few
from recall.version import version

_MOST = 3


def origin_html(runs: Iterable[RunResult]) -> str:
    """Return the date and version of the report, and versions and machines of the runs."""
    made = f"Made {_now()} with recall {version()}"
    where = _trained(list(runs))
    return f"<p class='origin'>{text(made)}.{f' {text(where)}.' if where else ''}</p>"


def _now() -> str:
    """Return the date and time in UTC; SOURCE_DATE_EPOCH stands for it in reproducible builds."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    moment = time.gmtime(int(seconds) if seconds else None)
    return f"on {moment.tm_mday} {time.strftime('%B %Y at %H:%M UTC', moment)}"


def _trained(runs: list[RunResult]) -> str:
    versions: dict[str, None] = {}
    machines: dict[str, None] = {}
    for run in runs:
        about = run.description
        if version := (about.get("versions") or {}).get("recall"):
            commit = ((about.get("git") or {}).get("commit") or "")[:8]
            dirty = " with changes" if (about.get("git") or {}).get("dirty") else ""
            versions[f"recall {version}" + (f" (commit {commit}{dirty})" if commit else "")] = None
        machine = about.get("machine") or {}
        device = ", ".join(machine.get("accelerators") or ()) or machine.get("processor")
        if device:
            machines[str(device)] = None
    parts = [few(versions, _MOST)] if versions else []
    parts += [f"on {few(machines, _MOST)}"] if machines else []
    return f"The runs were trained with {' '.join(parts)}" if versions else ""
