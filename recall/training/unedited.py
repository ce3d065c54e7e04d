"""Refusal of fleets whose run.json was edited, and warnings about other versions of software."""

from pathlib import Path
from typing import Any

from recall.errors import RecallError
from recall.files.fleet_layout import CHECKPOINTS, DESCRIPTION
from recall.files.reading import read_json
from recall.plugins import sources
from recall.runs.description import (
    Description,
    EditedFleetError,
    differences,
    edits_in_words,
    identity,
    is_edited,
)
from recall.training.provenance import git_state, versions


def check_unedited(folder: Path, description: Description) -> None:
    """Raise EditedFleetError if run.json is not what the fleet was started with."""
    if not is_edited(description):
        return
    started = _started_as(folder)
    changes = [] if started is None else differences(identity(description), started)
    what = f" ({edits_in_words(changes)})" if changes else ""
    raise EditedFleetError(
        f"{folder / DESCRIPTION} was edited after the fleet was started{what}: undo the edit, or "
        "train the changed fleet in another folder"
    )


def _started_as(folder: Path) -> Description | None:
    """Return what the newest readable checkpoint says that the fleet was started as."""
    found = folder.glob(f"{CHECKPOINTS}/[0-9]*/metadata/metadata")
    for path in sorted(found, key=_number, reverse=True):
        try:
            content = read_json(path)
        except RecallError:
            continue
        if isinstance(content, dict) and isinstance(content.get("fleet"), dict):
            return content["fleet"]
    return None


def _number(metadata: Path) -> int:
    """Return the number of the checkpoint whose metadata these are; 0 if it has none."""
    name = metadata.parts[-3]
    return int(name) if name.isdecimal() else 0


def other_versions(description: Description) -> str | None:
    """Return a warning that names what has another version than at the start, or None."""
    recorded = description.get("versions", {})
    now = versions()
    changes = [
        f"{name} {before} (now {now.get(name, 'missing')})"
        for name, before in recorded.items()
        if before != now.get(name)
    ]
    changes += _other_source(description.get("git"))
    plugins = other_plugins(description, sources.sources())
    if not changes and not plugins:
        return None
    how_far = "differ" if plugins else "differ in the last bits"
    return (
        f"warning: this fleet was started with {', '.join([*changes, *plugins])}: its results may "
        f"{how_far} from those of a fleet that was never interrupted"
    )


def _other_source(recorded: Any) -> list[str]:
    now = git_state(Path(__file__).parents[2])
    before = recorded.get("commit") if isinstance(recorded, dict) else None
    if not isinstance(before, str) or now is None or before == now["commit"]:
        return []
    return [f"source code {before[:12]} (now {now['commit'][:12]})"]


def other_plugins(description: Description, now: sources.Sources) -> list[str]:
    """Return the plug-ins whose code is no longer that of the start, as texts."""
    recorded = description.get("plugin_sources", {})
    told = sources.facts_in_words
    return [
        f"plug-in {name} {told(recorded[name])} (now {told(now[name])})"
        for name in sources.differing(recorded, now)
    ]
