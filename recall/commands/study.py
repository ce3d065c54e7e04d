"""`recall study`: an experiment of the paper, or one of ours, as one command."""

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional, arg

from recall.commands.show import AsJson, print_json, print_rows
from recall.errors import RecallError


class UnfinishedError(RecallError):
    """Some of a study is left; the process ends with `exit_status`."""

    def __init__(self, message: str, exit_status: int):
        super().__init__(message)
        self.exit_status = exit_status


def study(
    name: Annotated[Positional[str], arg(help="One of `recall list studies`.")],
    scale: Annotated[
        float, arg(help="Shrinks steps per task, evaluation spacing and exploration together.")
    ] = 1.0,
    seeds: Annotated[int | None, arg(help="How many, from 0 on. None: the study's own.")] = None,
    tasks: Annotated[tuple[str, ...], arg(help="Only sequences made of these tasks.")] = (),
    sequences: Annotated[
        tuple[str, ...], arg(help="Only these, or others to ask the same question of.")
    ] = (),
    methods: Annotated[
        tuple[str, ...], arg(help="Only these of the study's methods, or others beside them.")
    ] = (),
    out: Annotated[
        Path | None, arg(help="The study's folder. None: runs/NAME, with the scale if not 1.")
    ] = None,
    preset: Annotated[str, arg(help="One of `recall list presets`.")] = "default",
    config: Annotated[
        Path | None, arg(help="Settings in a .json or .toml file, over the preset.")
    ] = None,
    launcher: Annotated[
        Literal["local", "ray"], arg(help="This machine, or a cluster with Ray.")
    ] = "local",
    address: Annotated[
        str | None, arg(help="With Ray: the cluster. None: the one found, or a new local one.")
    ] = None,
    storage: Annotated[
        str | None, arg(help="With Ray, where nodes share no disk: a URL that keeps the fleets.")
    ] = None,
    cpus_per_fleet: Annotated[int | None, arg(help="With Ray. None: its share of a node.")] = None,
    gpus_per_fleet: Annotated[int | None, arg(help="With Ray. None: one if there are any.")] = None,
    fleets_at_once: Annotated[int, arg(help="Side by side on this machine.")] = 1,
    runs_per_fleet: Annotated[
        int | None, arg(help="At most. None: as many as fit the device's memory.")
    ] = None,
    memory: Annotated[
        float | None, arg(help="GiB of each device that a fleet may take. None: measured.")
    ] = None,
    retries: Annotated[int, arg(help="How often a fleet that fails is gone on with.")] = 2,
    bench: Annotated[
        tuple[Path, ...],
        arg(help="JSON of `recall bench`, for the time. None: bench*.json in the folder."),
    ] = (),
    dry_run: Annotated[bool, arg(help="Only say what would run, and for how long.")] = False,
    quiet: Annotated[bool, arg(help="Show no progress.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run a study, or what is left of it: the same command again goes on until all is done."""
    from recall.config.presets import read_config
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
    # What makes no sense is refused before anything is measured, let alone started.
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
        print(f"failed: {name} at step {step:,}; it would fail again", file=sys.stderr)
    for name, reason in launch.outcome.failed.items():
        print(f"failed: {name}: {reason}", file=sys.stderr)
    if launch.exit_status:
        left = len(launch.fleets) - len(finished)
        raise UnfinishedError(
            f"{left} of {len(launch.fleets)} fleets are left; the same command goes on with them",
            launch.exit_status,
        )
    if not as_json:
        _tell_report(study, launch.folder, choices.scale)


def _tell_report(study: Any, folder: Path, scale: float) -> None:
    if not study.transfer:
        print(f"`recall report {folder}` gives the answer")
        return
    shrunk = "" if scale == 1 else f" --scale {scale:g}"
    print(
        f"`recall report {folder}` gives the answer; forward transfer also needs the folder of "
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
