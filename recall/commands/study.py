"""`recall study`: run an experiment of the paper, or one of ours, with one command."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from recall.commands.options import spelt, values_by_name
from recall.commands.show import Flag, print_rows, tell
from recall.errors import BadValueError
from recall.settings.checked import Count, Positive, Range, Words

if TYPE_CHECKING:
    from recall.studies.declared import Study
    from recall.studies.launch.place import Place
    from recall.studies.plan import Fleet
    from recall.studies.runner import Launch
    from recall.studies.selection import Choices


NotNegativeWhole = Annotated[int, Range(least=0)]


@dataclass(frozen=True)
class StudyOptions:
    """The options of `recall study`."""

    name: Annotated[Positional[str], arg(metavar="NAME")]
    """Name of a study; see `recall list studies`."""
    scale: float = 1.0
    """Scale steps per task and evaluation interval by this factor."""
    seeds: int | None = None
    """Number of seeds, starting at 0. None: the study's own number."""
    tasks: tuple[str, ...] = ()
    """Run only the sequences made of these tasks; all if none are given."""
    sequences: tuple[str, ...] = ()
    """Sequences to run, of the study or others. All of the study's if none are given."""
    methods: tuple[str, ...] = ()
    """Methods to run, of the study or others. All of the study's if none are given."""
    out: Path | None = None
    """Folder of the study. None: runs/NAME, with the scale added if it is not 1."""
    preset: str | None = None
    """Name of a preset; see `recall list presets`. None: the file's, or the default."""
    config: Path | None = None
    """A .json or .toml file with settings that override the preset."""
    set: tuple[str, ...] = ()
    """Settings as NAME=VALUE, such as learning_rate=3e-4 hidden=128,128, that override the file."""
    launcher: Literal["local", "ray"] = "local"
    """Train on this machine, or on a cluster with Ray."""
    address: str | None = None
    """With Ray: address of the cluster. None: that of RAY_ADDRESS, or a new one on this machine."""
    cpus_per_fleet: Count | None = None
    """With Ray: CPUs of a fleet. None: its share of a node."""
    gpus_per_fleet: NotNegativeWhole | None = None
    """With Ray: GPUs of a fleet. None: one if the cluster has any."""
    fleets_at_once: Count = 1
    """Number of fleets that train at the same time on this machine."""
    runs_per_fleet: Count | None = None
    """Maximum number of runs in a fleet. None: as many as fit the device's memory."""
    memory: Positive | None = None
    """GiB of each device's memory that a fleet may use. None: measured."""
    retries: NotNegativeWhole = 2
    """How many times a failed fleet is retried."""
    shard: str | None = None
    """Train only part i of n of the fleets, given as i/n, as one of n launchers."""
    slurm: Path | None = None
    """Only write a Slurm script: an array of n tasks if --shard is i/n, else one per variant."""
    dry_run: Flag = False
    """Only print what would run."""
    quiet: Flag = False
    """Show no progress."""

    @property
    def folder(self) -> Path:
        """Return the folder of the study."""
        scaled = self.name if self.scale == 1 else f"{self.name}-scale{self.scale:g}"
        return self.out or Path("runs") / scaled

    def choices(self, study: "Study") -> "Choices":
        """Return which runs of the study are wanted, with which settings."""
        from recall.config.resolve import ARGUMENTS, read_config
        from recall.studies.selection import Choices

        in_file, changes = read_config(self.config) if self.config else ({}, {})
        preset = in_file.pop("preset", ARGUMENTS["preset"])
        given = values_by_name("--set", self.set)
        wrong = [f"{name} in {self.config}" for name in in_file]
        wrong += [f"--set {name}" for name in given if name in ARGUMENTS]
        if wrong:
            raise BadValueError(f"{wrong[0]}: use --methods, --sequences, --seeds or --preset")
        own = {name for each in study.variants for name in (*each.changes, *each.shares)}
        for name in given:
            if (last := name.replace("-", "_").rpartition(".")[2]) in own:
                raise BadValueError(
                    f"--set {name}: the study {study.name} sets {last} itself; --methods chooses "
                    "among its variants"
                )
        words = {name: Words((value,)) for name, value in given.items()}
        chosen = (self.scale, self.seeds, self.tasks, self.sequences, self.methods)
        return Choices(*chosen, self.preset or preset, changes, words)

    def place(self) -> "Place":
        """Return the machine or the cluster on which the fleets train."""
        from recall.studies.launch.place import here, on_cluster
        from recall.studies.study_folder import LOGS

        logs, limits = self.folder / LOGS, (self.runs_per_fleet, self.memory)
        needs = (self.address, self.cpus_per_fleet, self.gpus_per_fleet)
        if self.launcher == "ray":
            return on_cluster(logs, *needs, *limits)
        if needs != (None, None, None):
            raise BadValueError("--address, --cpus-per-fleet, --gpus-per-fleet need --launcher ray")
        return here(logs, self.fleets_at_once, *limits)

    def words(self) -> list[str]:
        """Return the options that were given as words again, as every task of an array has them."""
        found = [self.name]
        for option in fields(self):
            value = getattr(self, option.name)
            if option.name in ("name", "shard", "slurm", "dry_run") or value == option.default:
                continue
            values = value if isinstance(value, tuple) else () if value is True else (value,)
            found += [spelt(option.name), *map(str, values)]
        return found


def study(options: Annotated[StudyOptions, arg(name="")]) -> None:
    """Run a study, or the rest of it; repeat the same command until everything is finished."""
    import jax

    from recall.studies import study_named
    from recall.studies.launch.display import Display
    from recall.studies.plan import Shard
    from recall.studies.runner import plan_study, run_study
    from recall.studies.selection import groups_of

    # This process only plans; those that it starts see the accelerators.
    jax.config.update("jax_platforms", "cpu")
    chosen, folder = study_named(options.name), options.folder
    choices, shard = options.choices(chosen), Shard.parse(options.shard or "1/1")
    groups = groups_of(chosen, choices)  # refuses invalid choices before anything is measured
    if options.slurm is not None:
        _write_script(options.slurm, options, len(groups) if shard.count == 1 else shard.count)
        return
    place = options.place()
    try:
        if options.dry_run:
            fleets = plan_study(chosen, choices, folder, place.room, shard.count)
            _tell_plan(shard.part(fleets), folder, chosen.question, place)
            return
        display = partial(Display, quiet=options.quiet)
        launch = run_study(
            chosen, choices, folder, place.room, place.launcher, display, options.retries, shard
        )
    finally:
        place.close()
    _tell_end(launch)


_SLURM = """\
#!/bin/bash
# Options on the command line of sbatch override those of this script.
#SBATCH --job-name=recall-{name}
#SBATCH --array=1-{shards}
#SBATCH --gres=gpu:1 --cpus-per-task=16 --time=12:00:00
#SBATCH --signal=TERM@120 --requeue --open-mode=append
cd {folder} || exit
srun {command} --shard "$SLURM_ARRAY_TASK_ID/{shards}"
status=$?
# The signal before the time limit has ended it, saved: queue this array task again.
if [ $status -eq 143 ]; then scontrol requeue "$SLURM_JOB_ID"; fi
exit $status
"""


def _write_script(path: Path, options: StudyOptions, shards: int) -> None:
    from recall.files.atomic import write_text
    from recall.plugins import loaded

    words = options.words() + [word for name in loaded() for word in ("--plugin", name)]
    command = shlex.join([sys.executable, "-m", "recall", "study", *words])
    folder = shlex.quote(str(Path.cwd()))
    write_text(
        path, _SLURM.format(name=options.name, shards=shards, folder=folder, command=command)
    )
    print(f"{path}: an array of {shards} tasks; check its resources, then `sbatch {path}`")


def _tell_end(launch: "Launch") -> None:
    count, finished, failed = len(launch.fleets), launch.finished, launch.failed_runs()
    left = count - len(finished)
    runs = sum(len(fleet.spec.runs) for fleet in launch.fleets)
    done = sum(len(fleet.spec.runs) for fleet in finished) - len(failed)
    print(f"finished: {len(finished)} of {count} fleets, {done} of {runs} runs, in {launch.folder}")
    for name, step in failed.items():
        tell(
            f"failed: {name} at step {step:,}; it is not retried, because on a sound machine the "
            "same numbers would come again"
        )
    for name, reason in launch.failed.items():
        tell(f"failed: {name}: {reason}")
    if launch.exit_status and left:
        tell(
            f"recall: {left} of {count} fleets are not finished; run the same command again to "
            "continue"
        )
    elif launch.without_runs:
        tell(
            f"recall: every run failed in {len(launch.without_runs)} of {count} fleets, because of "
            "numbers that were not finite; repair the environments if they returned them, or else "
            "try other settings, such as a lower learning_rate, in another folder"
        )
    elif left:
        print(f"{left} of the fleets are with other launchers, which are at work in the folder")
    else:
        print(f"`{shlex.join(['recall', 'report', str(launch.folder)])}` shows the results")
    if launch.exit_status:
        sys.exit(launch.exit_status)


def _tell_plan(fleets: Sequence["Fleet"], folder: Path, question: str, place: "Place") -> None:
    """Print the fleets in the order in which they would train, and sum up what is left."""
    from recall.files.fleet_layout import DESCRIPTION, status
    from recall.runs.wording import counted
    from recall.studies.study_folder import known_fleets
    from recall.training.memory import gibibytes

    known, left, rows = known_fleets(folder), [], []
    for fleet in fleets:
        took, state = known.get(fleet.name, {}).get("seconds"), "finished"
        if not status(folder / fleet.name).is_over:
            left.append(fleet)
            state = "begun" if (folder / fleet.name / DESCRIPTION).exists() else "new"
        row = {
            "fleet": fleet.name,
            "runs": len(fleet.spec.runs),
            "tasks": fleet.spec.tasks,
            "steps_per_task": f"{fleet.spec.steps_per_task:,}",
            "transitions": f"{fleet.transitions:,}",
            "memory": gibibytes(fleet.memory_bytes),
            "took": str(timedelta(seconds=round(took))) if took else "",
            "state": state,
        }
        rows.append(row)
    print_rows(rows)
    runs = counted(sum(len(fleet.spec.runs) for fleet in left), "run")
    transitions = sum(fleet.transitions for fleet in left)
    tell(
        f"{question}\n{runs} in {counted(len(left), 'fleet')}, {transitions:,} transitions\n"
        f"on {place.title}, {gibibytes(place.room.bytes_per_device)} for each device"
    )
