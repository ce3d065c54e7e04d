"""Plain SAC on pointworld as a study of two fleets that train in seconds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console

from recall.api import run_fleet
from recall.files.atomic import write_json
from recall.studies import STUDIES
from recall.studies.launch.display import Display
from recall.studies.launch.jobs import Launcher
from recall.studies.launch.local import LocalLauncher
from recall.studies.launch.place import Room
from recall.studies.runner import Launch, plan_study, run_study
from recall.studies.selection import Choices
from recall.training.callbacks import Callback
from tests.factories import fleets
from tests.factories.fleets import SEQUENCE

SMALL = fleets.CHANGES | {"steps_per_task": 200, "evaluate_every": 100, "evaluation_episodes": 1}
del SMALL["old_batch_size"]  # which fine-tuning does not have
STUDY = STUDIES["cw3"]
CHOICES = Choices(sequences=(SEQUENCE,), methods=("fine_tuning",), seeds=2, changes=SMALL)
FLEETS = ("fine_tuning", "fine_tuning-2")
# Two fleets of one run each, which share a compilation.
ROOM = Room(bytes_per_device=2**30, runs_per_fleet=1)


def left_when_nothing_happens(choices: Choices, folder: Path) -> dict[str, bytes]:
    """Train the study's fleets one after the other; return what they leave."""
    for fleet in plan_study(STUDY, choices, folder, ROOM):
        run_fleet(fleet.spec, folder / fleet.name, Callback())
    return left_by(folder)


def launch(
    folder: Path, place: Launcher | None = None, choices: Choices = CHOICES, **keywords: Any
) -> Launch:
    given = {"retries": 1} | keywords
    return run_study(
        STUDY, choices, folder, ROOM, lambda: place or LocalLauncher(folder / "logs"), **given
    )


def printing(file: TextIO) -> Callable[..., Display]:
    """A display that prints its lines to a file."""
    return lambda jobs, finished: Display(jobs, finished, console=Console(file=file, width=200))


def left_by(folder: Path) -> dict[str, bytes]:
    """The records and policies of all fleets of a study, byte for byte."""
    return {
        f"{path.parent.name}/{name}": content
        for path in sorted(folder.glob("*/run.json"))
        for name, content in fleets.left_by(path.parent).items()
    }


def begin(fleet, folder):
    """Make the folder of a fleet that a study has begun, with its run.json."""
    (folder / fleet.name).mkdir(parents=True)
    write_json(folder / fleet.name / "run.json", {"schema": 1, **fleet.spec.describe()})
