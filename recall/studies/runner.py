"""Planning and launching of a study, and bringing its fleets home from remote storage."""

import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recall.errors import BadValueError
from recall.files.fleet_layout import DESCRIPTION, STUDY, Status, read_outcome, status
from recall.files.reading import parse_json
from recall.plugins import portable
from recall.runs.fleet_folder import hold
from recall.runs.store import Results, read
from recall.studies.launch.display import Display
from recall.studies.launch.jobs import Job, Launcher, Outcome
from recall.studies.launch.lease import lease
from recall.studies.launch.remote_folder import RemoteFolder, filesystem
from recall.studies.launch.resources import Room
from recall.studies.launch.scheduler import Scheduler
from recall.studies.other_code import other_code
from recall.studies.plan import Fleet, plan
from recall.studies.selection import Choices, groups_of
from recall.studies.study import Study
from recall.studies.study_folder import (
    LOCK,
    WAY_OUT,
    check_folder,
    check_same_study,
    checked_study,
    known_fleets,
    write_study,
)
from recall.training.provenance import own_command

MakeBoard = Callable[[Sequence[Job], int], Display]


@dataclass(frozen=True)
class Launch:
    """A study that was launched, and how far it got."""

    folder: Path
    fleets: tuple[Fleet, ...]
    outcome: Outcome
    signal_status: int
    """The exit status for the signal that stopped the launch, or 0."""

    @property
    def exit_status(self) -> int:
        """Return the status of a signal that came, or 1 if a fleet or all its runs failed, or 0."""
        return self.signal_status or int(bool(self.outcome.failed or self.without_runs))

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

    def results(self) -> list[Results]:
        """Return the results of the finished fleets."""
        return [read(self.folder / fleet.name) for fleet in self.finished]


def plan_study(study: Study, choices: Choices, folder: Path, room: Room) -> list[Fleet]:
    """Return the fleets of a study in `folder`, without starting or writing anything."""
    groups = groups_of(study, choices)
    check_folder(folder, study, choices)
    return plan(groups, folder, room)


def check_retries(retries: int) -> None:
    """Raise an error for a negative number of retries."""
    if retries < 0:
        raise BadValueError(f"retries {retries} must be 0 or more")


def run_study(
    study: Study,
    choices: Choices,
    folder: Path,
    room: Room,
    launcher: Callable[[], Launcher],
    display: MakeBoard = Display,
    retries: int = 2,
    storage: str | None = None,
) -> Launch:
    """Train the unfinished fleets of a study; repeat the call until all fleets are finished."""
    check_retries(retries)
    plan_study(study, choices, folder, room)  # raises an error before anything starts
    with contextlib.ExitStack() as held:
        held.enter_context(hold(folder, LOCK))
        if storage is not None:
            held.enter_context(lease(storage))
        check_folder(folder, study, choices)
        if storage is not None:
            _join(storage, folder, study, choices)
        fleets = plan_study(study, choices, folder, room)
        before = known_fleets(folder)

        def save(outcome: Outcome) -> None:
            write_study(folder, study, choices, fleets, before, outcome)

        save(Outcome())

        def save_if_possible(outcome: Outcome) -> None:
            with contextlib.suppress(OSError):  # a full disk does not end the other fleets
                save(outcome)

        outcome, signal_status = _train(
            fleets, folder, launcher, display, retries, storage, save_if_possible
        )
        save(outcome)
    return Launch(folder, tuple(fleets), outcome, signal_status)


def _train(
    fleets: Sequence[Fleet],
    folder: Path,
    launcher: Callable[[], Launcher],
    display: MakeBoard,
    retries: int,
    storage: str | None,
    save: Callable[[Outcome], None],
) -> tuple[Outcome, int]:
    """Train the unfinished fleets; return their outcome and the exit status of a signal, or 0.

    `save` is called whenever a fleet ends, so that a launch that is killed leaves what it knew.
    """
    left = [fleet for fleet in fleets if not status(folder / fleet.name).is_over]
    if not left:
        return Outcome(), 0
    jobs = [_job(fleet, folder, storage) for fleet in left]
    warnings = other_code(folder, fleets)
    shown = display(jobs, len(fleets) - len(left))
    for warning in warnings:
        shown.message("", warning)
    place = launcher()
    try:
        scheduler = Scheduler(jobs, place, shown, retries, save)
        stop = scheduler.run()
    finally:
        shown.close()
        place.close()
    if storage is not None:
        _fetch(storage, folder)
    return scheduler.outcome, stop.exit_status if stop.signal_number is not None else 0


def _job(fleet: Fleet, folder: Path, storage: str | None) -> Job:
    description = json.loads(json.dumps(fleet.spec.describe()))
    kept = None if storage is None else f"{storage.rstrip('/')}/{fleet.name}"
    where = str((folder / fleet.name).resolve())
    return Job(fleet.name, where, description, kept, portable(), own_command())


def _join(storage: str, folder: Path, study: Study, choices: Choices) -> None:
    """Check that `storage` holds this study, and fetch what it has."""
    files, root = filesystem(storage)
    path = f"{root}/{STUDY}"
    if files.exists(path):
        held = checked_study(_parsed(files.cat_file(path), path), path)
        check_same_study(storage, held, study, choices)
    # The folder must be marked as this study's before fleets are fetched into it.
    if not (folder / STUDY).exists():
        write_study(folder, study, choices, [], {}, Outcome())
    files.pipe_file(path, (folder / STUDY).read_bytes())
    _fetch(storage, folder)


def _parsed(data: bytes, where: str) -> Any:
    try:
        return parse_json(data)
    except ValueError as error:
        raise BadValueError(f"{where} cannot be read ({error}): {WAY_OUT}") from error


def _fetch(storage: str, folder: Path) -> None:
    """Fetch the finished fleets under `storage`, and only run.json of the others."""
    files, root = filesystem(storage)
    for entry in files.ls(root, detail=True):
        name = Path(entry["name"]).name
        if entry["type"] != "directory" or status(folder / name).is_over:
            continue
        remote_folder = RemoteFolder(f"{storage.rstrip('/')}/{name}")
        remote_folder.pull(folder / name, only=None if remote_folder.finished else DESCRIPTION)
