"""A study's folder: study.json, the fleets' folders beside it, and the processes' output in logs/.

The fleets' folders are the record of what has been trained; study.json is written from them at
every launch and whenever a fleet ends. If it is lost, a launch of the same study writes it again.
"""

import contextlib
import dataclasses
import fcntl
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from recall.files.atomic import temporary_of, write_json
from recall.files.fleet_layout import DESCRIPTION, STUDY, StudyFile, status
from recall.files.reading import read_checked
from recall.runs.description import differences, in_words
from recall.runs.fleet_folder import FolderInUseError, hold, open_lock
from recall.runs.wording import few
from recall.studies.declared import Study
from recall.studies.plan import Fleet, fleets_of_others
from recall.studies.selection import Choices, groups_of

LOCK = "study.lock"
LAUNCHERS = "launchers.lock"
LOGS = "logs"
_WAY_OUT = (
    "restore it from a copy, or remove it and repeat the command that launched the study, which "
    "writes it again; only training times of earlier launches are lost"
)
# The selection of runs may change from launch to launch; the settings of a run may not.
_NARROWING = ("seeds", "tasks", "sequences", "methods")
_MOST_NAMED = 3


def check_folder(folder: Path, study: Study, choices: Choices) -> None:
    """Raise an error if a folder holds anything but this study with these settings."""
    if not (folder / STUDY).exists():
        _check_unmarked(folder, study, choices)
        return
    held = read_study(folder)
    there = {"study": held["study"], "given": {}, **_settings(held["choices"])}
    wanted = {"study": study.name, **_settings(dataclasses.asdict(choices))}
    wanted = json.loads(json.dumps({name: wanted.get(name) for name in there}))
    if found := differences(there, wanted):
        preset = "as in the preset"
        changes = [
            (name, preset if one is None else one, preset if other is None else other)
            for name, one, other in found
        ]
        raise FolderInUseError(
            f"{folder} holds the study {held['study']}, with {in_words(changes)}: choose another "
            "--out"
        )


def _settings(choices: Mapping[str, Any]) -> dict[str, Any]:
    """Return the choices that must be the same in every launch."""
    return {name: value for name, value in choices.items() if name not in _NARROWING}


def _check_unmarked(folder: Path, study: Study, choices: Choices) -> None:
    """Raise an error unless a folder without study.json is free, or has only this study's fleets.

    Nothing says whose the fleets are that another selection of runs began.
    """
    fleets = {path.parent.name for path in folder.glob(f"*/{DESCRIPTION}")}
    ours = {LOCK, LAUNCHERS, temporary_of(Path(STUDY)).name, *fleets, *([LOGS] if fleets else [])}
    found = sorted(path.name for path in folder.glob("*") if path.suffix != ".json")
    if strangers := [name for name in found if name not in ours]:
        raise FolderInUseError(
            f"{folder} is not empty and holds no study, but {few(strangers, _MOST_NAMED)}: choose "
            "another --out"
        )
    if others := fleets_of_others(groups_of(study, choices), folder):
        raise FolderInUseError(
            f"{folder} has no study.json, and runs of {few(others, _MOST_NAMED)} are not in the "
            f"study {study.name} with these choices and settings: repeat those that the fleets "
            "were begun with, or choose another --out"
        )


def read_study(folder: Path) -> dict[str, Any]:
    """Read and check study.json of a folder."""
    return read_checked(folder / STUDY, StudyFile, _WAY_OUT)


def known_fleets(folder: Path) -> dict[str, dict[str, Any]]:
    """Return what study.json says about each fleet, by name."""
    if not (folder / STUDY).exists():
        return {}
    return {fleet["name"]: fleet for fleet in read_study(folder)["fleets"]}


@contextlib.contextmanager
def at_work(folder: Path) -> Iterator[bool]:
    """Count as a launcher of the study; yield whether there are others. LOCK must be held."""
    with open_lock(folder, LAUNCHERS) as file:
        others = False
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            others = True
        fcntl.flock(file, fcntl.LOCK_SH)
        yield others


def planned_fleets(folder: Path, shards: int, others: bool) -> dict[str, dict[str, Any]]:
    """Return what study.json says about the fleets that must not be divided again, by name.

    These are the ones that have begun. While there are other launchers, which may begin any fleet,
    and in all launches of as many shards, these are all fleets.
    """
    known = known_fleets(folder)
    if others or (known and shards == read_study(folder).get("shards", 1) > 1):
        return known
    return {name: each for name, each in known.items() if (folder / name / DESCRIPTION).exists()}


def write_study(
    folder: Path,
    study: Study,
    choices: Choices,
    fleets: Sequence[Fleet],
    shards: int = 1,
    others: bool = False,
) -> None:
    """Write study.json: the choices and the state of every fleet, at the start of a launch."""
    before = known_fleets(folder)
    now = {fleet.name: about(fleet, folder, before.get(fleet.name, {})) for fleet in fleets}
    variants = {variant.title: variant for variant in study.variants}
    variants |= {fleet.variant.title: fleet.variant for fleet in fleets}
    write_json(
        folder / STUDY,
        {
            "schema": 1,
            "study": study.name,
            "question": study.question,
            "tables": study.tables,
            "figures": study.figures,
            "needs": ["reference"] if study.transfer else [],
            "choices": dataclasses.asdict(choices),
            "variants": [
                {**dataclasses.asdict(variant), "name": title}
                for title, variant in variants.items()
            ],
            # Fleets that were not selected this time are kept.
            "fleets": list({**planned_fleets(folder, shards, others), **now}.values()),
            "shards": shards,
        },
    )


def note_end(folder: Path, name: str, seconds: float, failure: str | None) -> None:
    """Add the end of an attempt at a fleet to study.json, to which other launchers write too."""
    with hold(folder, LOCK, wait=True):
        content = read_study(folder)
        for each in content["fleets"]:
            if each["name"] == name:
                each["finished"] = status(folder / name).is_over
                each["failure"] = failure
                each["seconds"] += seconds
                each["attempts"] = each.get("attempts", 0) + 1
        write_json(folder / STUDY, content)


def about(fleet: Fleet, folder: Path, before: Mapping[str, Any]) -> dict[str, Any]:
    """Return what study.json says of a fleet, given what it said `before`."""
    return {
        "name": fleet.name,
        "variant": fleet.variant.title,
        "runs": [run.name for run in fleet.spec.runs],
        "tasks": fleet.spec.tasks,
        "steps_per_task": fleet.spec.steps_per_task,
        "memory_bytes": fleet.memory_bytes,
        "finished": status(folder / fleet.name).is_over,
        "failure": None,
        # Wall time from the start of training.
        "seconds": before.get("seconds", 0),
        "attempts": before.get("attempts", 0),
    }
