"""List every fleet with its runs, the commands that train it again, and its settings."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from recall.analysis.collection import Collection
from recall.analysis.run_result import RunResult
from recall.report.page.markup import text
from recall.report.train_command import train_commands

_MOST = 6  # names in the heading of a fleet


def runs_section(collection: Collection) -> str:
    """Return the section with all fleets, folded; settings that all share are listed once."""
    fleets: dict[Path, list[RunResult]] = {}
    for run in (*collection.runs, *collection.reference_runs):
        fleets.setdefault(run.folder, []).append(run)
    groups = list(fleets.values())
    common = _common([runs[0].settings for runs in groups])
    shown = "".join(_fleet(runs, common) for runs in groups)
    if common:
        shown += (
            f"<details><summary>Settings that all runs share ({len(common)})</summary>"
            f"{_settings(common)}</details>"
        )
    return shown


def _common(settings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    first = settings[0] if settings else {}
    return {
        name: value
        for name, value in first.items()
        if all(name in each and each[name] == value for each in settings)
    }


def _fleet(runs: Sequence[RunResult], common: Mapping[str, Any]) -> str:
    first = runs[0]
    labels, sequences = (
        _few(dict.fromkeys(each))
        for each in zip(*((r.label, r.sequence) for r in runs), strict=True)
    )
    own = {name: value for name, value in first.settings.items() if name not in common}
    body = _commands(first) + _rows(runs)
    if own:
        body += f"<h4>Settings that not all runs share</h4>{_settings(own)}"
    return (
        f"<details class='fleet'><summary><b>{text(labels)}</b> on {text(sequences)}, "
        f"{_seeds(runs)}<small>{text(first.folder)}</small></summary>{body}{_made(first)}</details>"
    )


def _few(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _MOST} more" if len(listed) > _MOST else ""
    return ", ".join(listed[:_MOST]) + more


def _seeds(runs: Sequence[RunResult]) -> str:
    seeds = list(dict.fromkeys(run.seed for run in runs))
    return f"seed{'s' if len(seeds) > 1 else ''} {' '.join(map(str, seeds))}"


def _commands(run: RunResult) -> str:
    if run.source != "recall":
        return "<p class='note'>Imported: its records are another program's.</p>"
    if not run.description:
        return ""
    commands = train_commands(run.description)
    if not commands:
        names = ", ".join(run.description["functions"])
        return (
            f"<p class='note'>Trained from Python, on tasks that are functions: {text(names)}</p>"
        )
    together = "<p class='note'>These commands train its runs again:</p>"
    return (together if len(commands) > 1 else "") + "".join(map(_command, commands))


def _command(command: str) -> str:
    # An option and its values stay on one line where they can.
    parts = " ".join(f"<span>{text(part)}</span>" for part in re.split(r" (?=--)", command))
    return (
        f"<div class='command'><pre tabindex='0'><code>{parts}</code></pre>"
        "<button type='button' data-copy>copy</button></div>"
    )


def _rows(runs: Sequence[RunResult]) -> str:
    rows = "".join(
        f"<tr><th scope='row'>{text(run.name)}</th><td>{run.seed}</td>"
        f"<td>{_reached(run)}</td><td>{_state(run)}</td></tr>"
        for run in runs
    )
    return (
        "<div class='wide' tabindex='0' role='region' aria-label='runs'><table><thead><tr>"
        "<th scope='col'>run</th><th scope='col'>seed</th><th scope='col'>steps</th>"
        f"<th scope='col'>state</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _reached(run: RunResult) -> str:
    return f"{int(run.steps[-1]):,}" if len(run.steps) else "0"


def _state(run: RunResult) -> str:
    if run.failed_at is not None:
        return f"failed at {run.failed_at:,}"
    if not run.recorded:
        return "evaluations lost"
    return "finished" if run.finished else "unfinished"


def _settings(settings: Mapping[str, Any]) -> str:
    items = "".join(
        f"<div><dt>{text(name)}</dt><dd>{text(_value(value))}</dd></div>"
        for name, value in settings.items()
    )
    return f"<dl class='settings'>{items}</dl>"


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _made(run: RunResult) -> str:
    """Return the versions and the machine that the run was trained with."""
    about = run.description
    versions = about.get("versions") or {}
    machine = about.get("machine") or {}
    words = [f"{name} {version}" for name, version in versions.items()]
    words += [str(machine[name]) for name in ("processor", "system") if machine.get(name)]
    words += machine.get("accelerators") or []
    made = f"<p class='note'>{text(', '.join(words))}</p>" if words else ""
    return made + _archived(run)


def _archived(run: RunResult) -> str:
    """Return a note on what is missing if the run is read from an archive."""
    if run.archived is None:
        return ""
    words = f"Read from an archive. {run.archived.in_words()}".rstrip()
    return f"<p class='note'>{text(words)}</p>"
