"""A preview of a study: its runs, fleets, transitions and memory."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from recall.files.fleet_layout import DESCRIPTION, status
from recall.runs.wording import counted
from recall.studies.launch.place import Place
from recall.studies.plan import WHOLE, Shard
from recall.studies.runner import plan_study
from recall.studies.selection import Choices
from recall.studies.study import Study
from recall.studies.study_folder import known_fleets
from recall.training.memory import gibibytes


def dry_run(
    study: Study, choices: Choices, folder: Path, place: Place, shard: Shard = WHOLE
) -> dict[str, Any]:
    """Return a preview of a study, with its fleets in the order in which they would train.

    A fleet's `state` is "finished", "begun" or "new", and `took_seconds` what it took so far.
    """
    before = known_fleets(folder)
    fleets: list[dict[str, Any]] = []
    for fleet in shard.part(plan_study(study, choices, folder, place.room, shard.count)):
        fleets.append(
            {
                "name": fleet.name,
                "variant": fleet.variant.title,
                "runs": [run.name for run in fleet.spec.runs],
                "tasks": fleet.spec.tasks,
                "steps_per_task": fleet.spec.steps_per_task,
                "transitions": fleet.transitions,
                "memory_bytes": fleet.memory_bytes,
                "took_seconds": before.get(fleet.name, {}).get("seconds"),
                "state": _state(folder / fleet.name),
            }
        )
    return {
        "study": study.name,
        "question": study.question,
        "folder": str(folder),
        "place": place.title,
        "device_bytes": place.room.bytes_per_device,
        "places": place.room.places,
        "runs": sum(len(fleet["runs"]) for fleet in fleets),
        "transitions": sum(fleet["transitions"] for fleet in fleets),
        "fleets": fleets,
    }


def _state(folder: Path) -> str:
    if status(folder).is_over:
        return "finished"
    return "begun" if (folder / DESCRIPTION).exists() else "new"


def rows(preview: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row of text for each fleet of a preview."""
    return [
        {
            "fleet": fleet["name"],
            "runs": len(fleet["runs"]),
            "tasks": fleet["tasks"],
            "steps_per_task": f"{fleet['steps_per_task']:,}",
            "transitions": f"{fleet['transitions']:,}",
            "memory": gibibytes(fleet["memory_bytes"]),
            "took": str(timedelta(seconds=round(took))) if (took := fleet["took_seconds"]) else "",
            "state": fleet["state"],
        }
        for fleet in preview["fleets"]
    ]


def summary(preview: Mapping[str, Any]) -> list[str]:
    """Return lines that summarise a preview."""
    left = [fleet for fleet in preview["fleets"] if fleet["state"] != "finished"]
    if not left:
        return [preview["question"], "everything is finished: nothing is left to run"]
    runs = sum(len(fleet["runs"]) for fleet in left)
    transitions = sum(fleet["transitions"] for fleet in left)
    return [
        preview["question"],
        f"{counted(runs, 'run')} in {counted(len(left), 'fleet')}, {transitions:,} transitions",
        f"on {preview['place']}, {gibibytes(preview['device_bytes'])} for each device",
    ]
