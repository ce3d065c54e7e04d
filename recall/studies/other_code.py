"""Warnings about a study whose new fleets have other code of plug-ins than its earlier ones."""

from collections.abc import Sequence
from pathlib import Path

from recall.analysis.plugin_code import of_package
from recall.errors import RecallError
from recall.files.fleet_layout import DESCRIPTION, fleets_below
from recall.plugins.sources import sources
from recall.runs.description import Description, read_description
from recall.runs.fleet_folder import is_finished
from recall.runs.wording import few
from recall.studies.plan import Fleet
from recall.training.provenance import other_plugins

_MOST_NAMED = 3


def other_code(folder: Path, fleets: Sequence[Fleet]) -> list[str]:
    """Return warnings about fleets in `folder` that were trained with other code than is loaded.

    There are none unless one of `fleets` is new. Fleets that resume say so themselves.
    """
    new = [fleet for fleet in fleets if not (folder / fleet.name / DESCRIPTION).exists()]
    if not any(_may_use_plugins(fleet.spec.describe()) for fleet in new):
        return []
    resuming = {fleet.name for fleet in fleets if not is_finished(folder / fleet.name)}
    names: dict[str, list[str]] = {}
    now = sources()
    for path in fleets_below(folder):
        try:
            description = read_description(path)
        except (RecallError, OSError):  # a damaged fleet is told where it is needed
            continue
        changes = other_plugins(description, now)
        if changes and path.name not in resuming and _may_use_plugins(description):
            names.setdefault(", ".join(changes), []).append(path.name)
    return [_warning(changes, found) for changes, found in names.items()]


def _may_use_plugins(description: Description) -> bool:
    """Return False if nothing that a fleet trains can be a plug-in's."""
    tasks = {task for run in description["runs"] for task in run["tasks"]}
    return not of_package(description["method"]["name"], tasks)


def _warning(changes: str, names: Sequence[str]) -> str:
    were, their = ("was", "its") if len(names) == 1 else ("were", "their")
    return (
        f"warning: {few(names, _MOST_NAMED)} {were} started with {changes}: {their} results may "
        "differ from those of fleets that start now"
    )
