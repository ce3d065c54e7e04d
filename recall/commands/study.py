"""`recall study`: run an experiment of the paper, or one of ours, with one command."""

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional, arg

from recall.commands.show import AsJson, print_json, print_rows
from recall.errors import RecallError


class UnfinishedError(RecallError):
    """A study is not finished; the process should end with `exit_status`."""

    def __init__(self, message: str, exit_status: int):
        super().__init__(message)
        self.exit_status = exit_status


def study(
    name: Annotated[Positional[str], arg(help="Name of a study; see `recall list studies`.")],
    scale: Annotated[
        float, arg(help="Scale steps per task, evaluation interval and exploration by this factor.")
    ] = 1.0,
    seeds: Annotated[
        int | None, arg(help="Number of seeds, starting at 0. None: the study's own number.")
    ] = None,
    tasks: Annotated[
        tuple[str, ...],
        arg(help="Run only the sequences made of these tasks; all if none are given."),
    ] = (),
    sequences: Annotated[
        tuple[str, ...],
        arg(help="Sequences to run, of the study or others. All of the study's if none are given."),
    ] = (),
    methods: Annotated[
        tuple[str, ...],
        arg(help="Methods to run, of the study or others. All of the study's if none are given."),
    ] = (),
    out: Annotated[
        Path | None,
        arg(help="Folder of the study. None: runs/NAME, with the scale added if it is not 1."),
    ] = None,
    preset: Annotated[str, arg(help="Name of a preset; see `recall list presets`.")] = "default",
    config: Annotated[
        Path | None, arg(help="A .json or .toml file with settings that override the preset.")
    ] = None,
    launcher: Annotated[
        Literal["local", "ray"], arg(help="Train on this machine, or on a cluster with Ray.")
    ] = "local",
    address: Annotated[
        str | None,
        arg(help="With Ray: address of the cluster. None: the one found, or a new local one."),
    ] = None,
    storage: Annotated[
        str | None,
        arg(help="With Ray, if nodes share no disk: URL of the storage that keeps the fleets."),
    ] = None,
    cpus_per_fleet: Annotated[
        int | None, arg(help="With Ray: CPUs of a fleet. None: its share of a node.")
    ] = None,
    gpus_per_fleet: Annotated[
        int | None, arg(help="With Ray: GPUs of a fleet. None: one if the cluster has any.")
    ] = None,
    fleets_at_once: Annotated[
        int, arg(help="Number of fleets that train at the same time on this machine.")
    ] = 1,
    runs_per_fleet: Annotated[
        int | None,
        arg(help="Maximum number of runs in a fleet. None: as many as fit the device's memory."),
    ] = None,
    memory: Annotated[
        float | None,
        arg(help="GiB of each device's memory that a fleet may use. None: measured."),
    ] = None,
    retries: Annotated[int, arg(help="How many times a failed fleet is retried.")] = 2,
    bench: Annotated[
        tuple[Path, ...],
        arg(
            help="JSON files of `recall bench`, to estimate times; else bench*.json in the folder."
        ),
    ] = (),
    dry_run: Annotated[bool, arg(help="Only print what would run, and for how long.")] = False,
    quiet: Annotated[bool, arg(help="Show no progress.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run a study, or the rest of it; repeat the same command until everything is finished."""
    from recall.config.resolve import read_config
    from recall.launch.accelerators import use_cpu_only
    from recall.launch.resources import Where, place_of
    from recall.studies import study_named
    from recall.studies.estimates import read_speeds
    from recall.studies.selection import Choices, groups_of

    use_cpu_only()
    chosen = study_named(name)
    changes = read_config(config)[1] if config else {}
    choices = Choices(scale, seeds, tasks, sequences, methods, preset, changes)
    folder = out or Path("runs") / (name if scale == 1 else f"{name}-scale{scale:g}")
    # Invalid choices are refused before anything is measured or started.
    groups_of(chosen, choices)
    speeds = read_speeds(bench, folder)
    where = Where(
        launcher,
        address,
        storage,
        cpus_per_fleet,
        gpus_per_fleet,
        fleets_at_once,
        runs_per_fleet,
        memory,
    )
    place = place_of(where, folder / "logs")
    try:
        if dry_run:
            _tell_plan(chosen, choices, folder, place, speeds, as_json)
        else:
            _run(chosen, choices, folder, place, retries, storage, quiet, as_json)
    finally:
        place.close()


def _run(
    study: Any,
    choices: Any,
    folder: Path,
    place: Any,
    retries: int,
    storage: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    from recall.launch.display import on_screen
    from recall.studies.runner import run_study

    launch = run_study(
        study,
        choices,
        folder,
        place.room,
        place.launcher,
        lambda jobs, finished: on_screen(jobs, finished, quiet),
        retries,
        storage,
    )
    _tell_end(study, launch, choices, as_json)


def _tell_end(study: Any, launch: Any, choices: Any, as_json: bool) -> None:
    finished, failed = launch.finished, launch.failed_runs()
    if as_json:
        print_json(
            {
                "folder": str(launch.folder),
                "fleets": [fleet.name for fleet in launch.fleets],
                "finished": [fleet.name for fleet in finished],
                "failed": launch.outcome.failed,
                "failed_runs": failed,
            }
        )
    else:
        runs = sum(len(fleet.spec.runs) for fleet in launch.fleets)
        done = sum(len(fleet.spec.runs) for fleet in finished) - len(failed)
        print(
            f"finished: {len(finished)} of {len(launch.fleets)} fleets, {done} of {runs} runs, "
            f"in {launch.folder}"
        )
    for name, step in failed.items():
        print(
            f"failed: {name} at step {step:,}; it is not retried, because it would fail again",
            file=sys.stderr,
        )
    for name, reason in launch.outcome.failed.items():
        print(f"failed: {name}: {reason}", file=sys.stderr)
    if launch.exit_status:
        left = len(launch.fleets) - len(finished)
        raise UnfinishedError(
            f"{left} of {len(launch.fleets)} fleets are not finished; "
            "run the same command again to continue",
            launch.exit_status,
        )
    if not as_json:
        _tell_report(study, launch.folder, choices.scale)


def _tell_report(study: Any, folder: Path, scale: float) -> None:
    if not study.transfer:
        print(f"`recall report {folder}` shows the results")
        return
    shrunk = "" if scale == 1 else f" --scale {scale:g}"
    print(
        f"`recall report {folder}` shows the results; forward transfer also needs the folder of "
        f"`recall study reference{shrunk}`"
    )


def _tell_plan(
    study: Any, choices: Any, folder: Path, place: Any, speeds: Any, as_json: bool
) -> None:
    from recall.studies.dry_run import DryRun

    preview = DryRun.of(study, choices, folder, place, speeds)
    if as_json:
        print_json(preview.plain())
        return
    print_rows(preview.rows())
    for line in preview.summary():
        print(line, file=sys.stderr)
