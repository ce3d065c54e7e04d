"""A preview of a study for `--dry-run`: its runs, fleets, transitions, memory and time."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recall.files.fleet_layout import DESCRIPTION
from recall.runs.fleet_folder import is_finished
from recall.runs.wording import counted
from recall.studies.estimates import HOW_TO_MEASURE, Speeds, TimeEstimate, estimate_time
from recall.studies.launch.resources import Place
from recall.studies.other_code import other_code
from recall.studies.plan import Fleet
from recall.studies.runner import plan_study
from recall.studies.selection import Choices
from recall.studies.study import Study
from recall.studies.study_folder import seconds_of
from recall.training.memory import gibibytes


@dataclass(frozen=True)
class DryRun:
    """The fleets of a study, in the order in which they would train."""

    study: Study
    folder: Path
    place: Place
    fleets: tuple[Fleet, ...]
    expected: tuple[TimeEstimate | None, ...]
    took: Mapping[str, float]
    """Seconds that fleets have already trained, by name."""

    @classmethod
    def of(
        cls, study: Study, choices: Choices, folder: Path, place: Place, speeds: Speeds
    ) -> "DryRun":
        """Plan the study without starting anything."""
        fleets = plan_study(study, choices, folder, place.room)
        return cls(
            study,
            folder,
            place,
            tuple(fleets),
            tuple(estimate_time(fleet, speeds) for fleet in fleets),
            seconds_of(folder),
        )

    def state(self, fleet: Fleet) -> str:
        """Return the state of a fleet: "finished", "begun" or "new"."""
        folder = self.folder / fleet.name
        if is_finished(folder):
            return "finished"
        return "begun" if (folder / DESCRIPTION).exists() else "new"

    def left(self) -> list[tuple[Fleet, TimeEstimate | None]]:
        """Return the fleets that would train, with their time estimates."""
        pairs = zip(self.fleets, self.expected, strict=True)
        return [(fleet, time) for fleet, time in pairs if self.state(fleet) != "finished"]

    def seconds(self) -> float | None:
        """Return the seconds until all fleets finish, with all places in use; None if unknown."""
        times = [time for _, time in self.left()]
        if any(time is None for time in times):
            return None
        places = [0.0] * self.place.room.places
        for time in sorted((time.seconds for time in times if time), reverse=True):
            places[places.index(min(places))] += time
        return max(places)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row of text for each fleet."""
        return [
            {
                "fleet": fleet.name,
                "runs": len(fleet.spec.runs),
                "tasks": fleet.spec.tasks,
                "steps_per_task": f"{fleet.spec.steps_per_task:,}",
                "transitions": f"{fleet.transitions:,}",
                "memory": gibibytes(fleet.memory_bytes),
                "time": self._time(fleet, time),
                "state": self.state(fleet),
            }
            for fleet, time in zip(self.fleets, self.expected, strict=True)
        ]

    def _time(self, fleet: Fleet, expected: TimeEstimate | None) -> str:
        """Return the estimated time of a fleet, or the time that it took, as text."""
        if self.state(fleet) == "finished" and fleet.name in self.took:
            return f"took {duration(self.took[fleet.name])}"
        return duration(expected.seconds) if expected else "?"

    def summary(self) -> list[str]:
        """Return lines that summarise the study."""
        left = [fleet for fleet, _ in self.left()]
        if not left:
            return [self.study.question, "everything is finished: nothing is left to run"]
        runs = sum(len(fleet.spec.runs) for fleet in left)
        lines = [
            self.study.question,
            f"{counted(runs, 'run')} in {counted(len(left), 'fleet')}, "
            f"{sum(fleet.transitions for fleet in left):,} transitions",
            f"on {self.place.title}, {gibibytes(self.place.room.bytes_per_device)} for each device",
        ]
        seconds = self.seconds()
        lines.append(HOW_TO_MEASURE if seconds is None else f"about {duration(seconds)} in all")
        return lines + self.notes()

    def notes(self) -> list[str]:
        """Return notes on what time estimates leave out or assume, and on plug-ins that changed."""
        times = dict.fromkeys(note for time in self.expected if time for note in time.notes)
        return [*times, *other_code(self.folder, self.fleets)]

    def plain(self) -> dict[str, Any]:
        """Return the preview as plain data."""
        return {
            "study": self.study.name,
            "question": self.study.question,
            "folder": str(self.folder),
            "device_bytes": self.place.room.bytes_per_device,
            "places": self.place.room.places,
            "runs": sum(len(fleet.spec.runs) for fleet in self.fleets),
            "transitions": sum(fleet.transitions for fleet in self.fleets),
            "seconds": self.seconds(),
            "notes": self.notes(),
            "fleets": [
                {
                    "name": fleet.name,
                    "variant": fleet.variant.title,
                    "runs": [run.name for run in fleet.spec.runs],
                    "tasks": fleet.spec.tasks,
                    "steps_per_task": fleet.spec.steps_per_task,
                    "transitions": fleet.transitions,
                    "memory_bytes": fleet.memory_bytes,
                    "seconds": time.seconds if time else None,
                    "state": self.state(fleet),
                }
                for fleet, time in zip(self.fleets, self.expected, strict=True)
            ],
        }


def duration(seconds: float) -> str:
    """Return seconds as text in hours, minutes and seconds."""
    return str(datetime.timedelta(seconds=round(seconds)))
