"""A study's folder, which holds a folder for each fleet and study.json, which describes them.

    study.json    the question, the choices, the variants, the fleets and how they ended
    NAME/         a fleet (docs/running.md)
    logs/         the output of the fleets' processes

The fleets' folders are the record of what has been trained; study.json is written from them at
every launch and whenever a fleet ends. If it is lost or was removed because it is damaged, a launch
of the same study writes it again; only the times and attempts of earlier launches are lost.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from recall.files.atomic import temporary_of, write_json
from recall.files.fleet_layout import DESCRIPTION, STUDY, StudyFile, status
from recall.files.reading import read_checked
from recall.runs.fleet_folder import FolderInUseError
from recall.runs.wording import few
from recall.studies.launch.jobs import Outcome
from recall.studies.plan import Fleet, fleets_of_others
from recall.studies.selection import Choices, groups_of
from recall.studies.study import Study

LOCK = "study.lock"
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
    there = {"study": held["study"], **_settings(held["choices"])}
    wanted = {"study": study.name, **_settings(dataclasses.asdict(choices))}
    wanted = json.loads(json.dumps(wanted))
    for name, value in there.items():
        if value != wanted.get(name):
            raise FolderInUseError(
                f"{folder} holds {_unlike(held['study'], name, value, wanted.get(name))}: choose "
                "another --out"
            )


def _settings(choices: Mapping[str, Any]) -> dict[str, Any]:
    """Return the choices that must be the same in every launch."""
    return {name: value for name, value in choices.items() if name not in _NARROWING}


def _unlike(study: str, name: str, held: Any, wanted: Any) -> str:
    """Return a short text that says what is there and what was expected."""
    if name == "study":
        return f"the study {held} and not {wanted}"
    if name == "changes":
        name = min(key for key in held | wanted if held.get(key) != wanted.get(key))
        held, wanted = (each.get(name, "as in the preset") for each in (held, wanted))
    return f"the study {study} with {name} {held} and not {wanted}"


def _check_unmarked(folder: Path, study: Study, choices: Choices) -> None:
    """Raise an error unless a folder without study.json is free, or has only this study's fleets.

    Fleets that another selection of runs began are refused too, because nothing says whose they
    are.
    """
    fleets = {path.parent.name for path in folder.glob(f"*/{DESCRIPTION}")}
    ours = {LOCK, temporary_of(Path(STUDY)).name, *fleets} | ({LOGS} if fleets else set())
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


def write_study(
    folder: Path,
    study: Study,
    choices: Choices,
    fleets: Sequence[Fleet],
    before: Mapping[str, dict[str, Any]],
    outcome: Outcome,
) -> None:
    """Write study.json: the choices and the state of every fleet.

    `before` is what was known when the launch started, and `outcome` what has happened since;
    training times and attempts are added up.
    """
    now = {
        fleet.name: _about(fleet, folder, before.get(fleet.name, {}), outcome) for fleet in fleets
    }
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
            "fleets": list({**before, **now}.values()),
        },
    )


def _about(
    fleet: Fleet, folder: Path, before: Mapping[str, Any], outcome: Outcome
) -> dict[str, Any]:
    return {
        "name": fleet.name,
        "variant": fleet.variant.title,
        "runs": [run.name for run in fleet.spec.runs],
        "tasks": fleet.spec.tasks,
        "steps_per_task": fleet.spec.steps_per_task,
        "memory_bytes": fleet.memory_bytes,
        "finished": status(folder / fleet.name).is_over,
        "failure": outcome.failed.get(fleet.name),
        # Wall time from the start of training.
        "seconds": before.get("seconds", 0) + outcome.seconds.get(fleet.name, 0),
        "attempts": before.get("attempts", 0) + outcome.attempts.get(fleet.name, 0),
    }
