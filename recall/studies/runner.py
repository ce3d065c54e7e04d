"""Planning and launching of a study."""

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from recall.errors import RecallError
from recall.files.fleet_layout import Status, read_outcome, status
from recall.plugins import loaded
from recall.runs.fleet_folder import hold
from recall.studies.declared import Study
from recall.studies.launch.display import Display
from recall.studies.launch.jobs import Job, Launcher
from recall.studies.launch.place import Room
from recall.studies.launch.scheduler import Scheduler
from recall.studies.plan import WHOLE, Fleet, Shard, plan
from recall.studies.selection import Choices, groups_of
from recall.studies.study_folder import (
    LOCK,
    LOGS,
    at_work,
    check_folder,
    note_end,
    planned_fleets,
    write_study,
)
from recall.training.provenance import own_command

MakeDisplay = Callable[[Sequence[Job], int], Display]


@dataclass(frozen=True)
class Launch:
    """A study, or one shard of it, that was launched, and how far it got."""

    folder: Path
    fleets: tuple[Fleet, ...]
    failed: Mapping[str, str] = field(default_factory=dict)
    """The fleets that were given up, and why."""
    signal_status: int = 0
    """The exit status for the signal that stopped the launch, or 0."""

    @property
    def exit_status(self) -> int:
        """Return the status of a signal that came, or 1 if a fleet or all its runs failed, or 0."""
        return self.signal_status or int(bool(self.failed or self.without_runs))

    @property
    def finished(self) -> list[Fleet]:
        """Return the finished fleets, from this launch and from earlier ones."""
        return [fleet for fleet in self.fleets if status(self.folder / fleet.name).is_over]

    @property
    def without_runs(self) -> list[Fleet]:
        """Return the finished fleets in which every run failed."""
        return [fleet for fleet in self.fleets if status(self.folder / fleet.name) is Status.FAILED]

    def failed_runs(self) -> dict[str, int]:
        """Return the runs of finished fleets that met a non-finite number, and their steps."""
        failed: dict[str, int] = {}
        for fleet in self.finished:
            if outcome := read_outcome(self.folder / fleet.name):
                failed |= {f"{fleet.name}/{name}": step for name, step in outcome.failed.items()}
        return failed


def plan_study(
    study: Study, choices: Choices, folder: Path, room: Room, shards: int = 1, others: bool = False
) -> list[Fleet]:
    """Return the fleets of a study in `folder`, without starting or writing anything.

    There are enough for as many `shards`. Those that `others` train or may begin stay as they are.
    """
    groups = groups_of(study, choices)
    check_folder(folder, study, choices)
    room = replace(room, places=room.places * shards)
    return plan(groups, folder, room, planned_fleets(folder, shards, others))


def run_study(
    study: Study,
    choices: Choices,
    folder: Path,
    room: Room,
    launcher: Callable[[], Launcher],
    display: MakeDisplay = Display,
    retries: int = 2,
    shard: Shard = WHOLE,
) -> Launch:
    """Train the unfinished fleets of a study; repeat the call until all fleets are finished.

    Several launchers may share a study: a fleet that one of them trains is left out by the others.
    """
    plan_study(study, choices, folder, room)  # raises an error before anything is written

    def note(name: str, seconds: float, failure: str | None) -> None:
        # A full disk does not end the other fleets.
        with contextlib.suppress(OSError, RecallError):
            note_end(folder, name, seconds, failure)

    with contextlib.ExitStack() as held:
        with hold(folder, LOCK, wait=True):
            others = held.enter_context(at_work(folder))
            planned = plan_study(study, choices, folder, room, shard.count, others)
            write_study(folder, study, choices, planned, shard.count, others)
        fleets = shard.part(planned)
        left = [fleet for fleet in fleets if not status(folder / fleet.name).is_over]
        if not left:
            return Launch(folder, tuple(fleets))
        jobs = [
            Job(
                fleet.name,
                str((folder / fleet.name).resolve()),
                json.loads(json.dumps(fleet.spec.describe())),
                loaded(),
                own_command(),
            )
            for fleet in left
        ]
        shown, place = display(jobs, len(fleets) - len(left)), launcher()
        try:
            # Noted whenever a fleet ends, so that a launch that is killed leaves what it knew.
            scheduler = Scheduler(jobs, place, shown, retries, note, folder / LOGS)
            stop = scheduler.run()
        finally:
            shown.close()
            place.close()
    signal_status = 0 if stop.signal_number is None else stop.exit_status
    return Launch(folder, tuple(fleets), scheduler.failed, signal_status)
