"""run.json: what a fleet was started as. It is checked when it is read, and tied to its content.

`digest` in run.json covers everything that determines results. A fleet whose run.json was edited
is not resumed, because its records and checkpoints come from other settings.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from recall.errors import BadValueError, RecallError
from recall.files.fleet_layout import CHECKPOINTS, DESCRIPTION, OUTCOME, POLICIES, fleets_below
from recall.files.names import checked_name
from recall.files.reading import read_json

SCHEMA = 1
# These settings do not affect results: fleets that differ only in them are the same fleet.
_NO_MATTER = ("workers", "checkpoint_minutes")
_LARGEST_SEED = 2**31 - 1
_MOST_SHOWN = 80
_MOST_NAMED = 8

Description = dict[str, Any]


class EditedFleetError(RecallError):
    """run.json is not what the fleet was started with."""


def read_description(folder: Path) -> Description:
    """Read run.json of a folder, and check everything in it that is not a setting."""
    path = folder / DESCRIPTION
    if not folder.exists():
        raise BadValueError(f"there is no folder {folder}")
    if not path.exists():
        raise BadValueError(_no_fleet(folder))
    content = read_json(path, "restore it from a copy")
    if not isinstance(content, dict):
        raise BadValueError(f"{path} cannot be read: it must hold named facts about a fleet")
    if content.get("schema") != SCHEMA:
        raise BadValueError(
            f"{path} has schema {content.get('schema')!r}; this version reads {SCHEMA}"
        )
    for fault in _faults(content, path):
        raise BadValueError(
            f"{path} {fault}: the file was damaged or edited. Restore it from a copy"
        )
    return content


def _no_fleet(folder: Path) -> str:
    """Return why a folder without run.json cannot be used, with the fleets that lie below it."""
    # Studies have their fleets in the folder itself, and folders of studies one further down.
    below = sorted([*fleets_below(folder), *fleets_below(folder, 2)])
    if not below:
        if any((folder / name).exists() for name in (CHECKPOINTS, POLICIES, OUTCOME)):
            return f"{folder} has lost its {DESCRIPTION}, without which nothing in it can be used"
        return f"{folder} holds no results: there is no {DESCRIPTION} in it"
    shown = ", ".join(map(str, below[:_MOST_NAMED]))
    more = f" and {len(below) - _MOST_NAMED} more" if len(below) > _MOST_NAMED else ""
    return f"{folder} is no fleet, but a folder of fleets: name one of them ({shown}{more})"


def _faults(content: Description, path: Path) -> Iterator[str]:
    if "runs" not in content:
        yield "lacks 'runs'"
    yield from _faults_of_runs(content["runs"], path)
    for name in ("method", "settings"):
        if name not in content:
            yield f"lacks {name!r}"
    method, settings = content["method"], content["settings"]
    if not (isinstance(method, dict) and isinstance(method.get("name"), str)):
        yield _unexpected("method", method)
    if not (isinstance(settings, dict) and isinstance(settings.get("schedule"), dict)):
        yield _unexpected("settings", settings)
    yield from _faults_of_numbers(settings["schedule"], method)
    yield from _faults_of_surroundings(content)


def _faults_of_surroundings(content: Description) -> Iterator[str]:
    for name in ("versions", "machine"):
        if not isinstance(content.get(name, {}), dict):
            yield _unexpected(name, content[name])
    for name in ("functions", "plugins", "command"):
        if not _is_texts(content.get(name, [])):
            yield _unexpected(name, content[name])
    if not _is_facts(content.get("plugin_sources", {})):
        yield _unexpected("plugin_sources", content["plugin_sources"])


def _faults_of_numbers(schedule: Description, method: Description) -> Iterator[str]:
    steps = schedule.get("steps_per_task")
    if not (_is_count(steps) and steps):
        yield _unexpected("steps_per_task", steps)
    for tree, name in ((schedule, "replay_capacity"), (method, "memory_per_task")):
        if tree.get(name) is not None and not _is_count(tree[name]):
            yield _unexpected(name, tree[name])


def _faults_of_runs(runs: Any, path: Path) -> Iterator[str]:
    if not (isinstance(runs, list) and runs and all(isinstance(run, dict) for run in runs)):
        yield _unexpected("runs", runs)
    for run in runs:
        tasks, seed = run.get("tasks"), run.get("seed")
        if not (tasks and _is_texts(tasks)):
            yield _unexpected("tasks", tasks)
        if not _is_count(seed) or seed > _LARGEST_SEED:
            yield _unexpected("seed", seed)
        if not isinstance(run.get("sequence"), str):
            yield _unexpected("sequence", run.get("sequence"))
        checked_name(run.get("name"), path)
    if len({len(run["tasks"]) for run in runs}) > 1:
        yield "does not have the expected content: its runs have different numbers of tasks"
    if len({run["name"] for run in runs}) < len(runs):
        yield "does not have the expected content: two runs have the same name"


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_facts(value: Any) -> bool:
    """Return True for texts by name, by the name of what they describe."""
    return isinstance(value, dict) and all(
        isinstance(facts, dict) and _is_texts(list(facts.values())) for facts in value.values()
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _unexpected(name: str, value: Any) -> str:
    return f"does not have the expected content: {name} is {_shown(value)}"


def _shown(value: Any) -> str:
    """Return a value as text that fits a message."""
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def _in_line(name: str) -> str:
    return name if name.isprintable() and len(name) <= _MOST_SHOWN else _shown(name)


def identity(description: Description) -> Description:
    """Return the part of a description that determines results, as JSON holds it."""
    settings = dict(description["settings"])
    settings["schedule"] = {
        name: value for name, value in settings["schedule"].items() if name not in _NO_MATTER
    }
    kept = {"method": description["method"], "runs": description["runs"], "settings": settings}
    return json.loads(json.dumps(kept))


def digest_of(description: Description) -> str:
    """Return the digest of everything in a description that determines results."""
    text = json.dumps(identity(description), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def is_edited(description: Description) -> bool:
    """Return True if what determines results is not what `digest` was computed from."""
    return "digest" in description and description["digest"] != digest_of(description)


def differences(held: Description, wanted: Description) -> list[tuple[str, Any, Any]]:
    """Return the dotted name and both values of everything in which two identities differ."""
    one, other = _leaves(held), _leaves(wanted)
    names = dict.fromkeys([*one, *other])
    return [
        (name.lstrip("."), one.get(name), other.get(name))
        for name in names
        if one.get(name) != other.get(name)
    ]


def _leaves(tree: Any, above: str = "") -> dict[str, Any]:
    if isinstance(tree, list) and any(isinstance(item, dict) for item in tree):
        tree = dict(enumerate(tree))
    if not isinstance(tree, dict):
        return {above: tree}
    return {
        name: leaf
        for key, item in tree.items()
        for name, leaf in _leaves(item, f"{above}.{key}").items()
    }


def edits_in_words(changes: list[tuple[str, Any, Any]]) -> str:
    """Return what was edited, as text: the first few names with the new and the old value."""
    shown = [
        f"{_in_line(name)} is {_shown(new)}, but was {_shown(old)}"
        for name, new, old in changes[:3]
    ]
    more = [f"{len(changes) - 3} more"] if len(changes) > 3 else []
    return "; ".join([*shown, *more])
