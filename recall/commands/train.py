"""`recall train`, `recall resume` and `recall evaluate`: the command-line interface of recall.api.

Every setting is an option of `recall train`, which is resolved in recall.config.resolve.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from tyro.conf import Positional, arg

from recall.commands.options import PLUGIN_HELP, split_options, values_by_name
from recall.commands.show import AsJson, Flag, print_json, print_rows, tell
from recall.errors import BadValueError
from recall.settings import LearnerSettings, ScheduleSettings, WorldSettings
from recall.settings.checked import Checked, Words, from_plain
from recall.worlds.task_names import numbered

if TYPE_CHECKING:
    from recall.config.spec import FleetSpec

_NAMES_HELP = (
    "Every option but the first ones is a setting, and sets it as in a settings file or in Python. "
    "The name of its group may be left out: --hidden is --network.hidden."
)


def train_command(arguments: Sequence[str]) -> None:
    """Train a method on sequences of tasks, many runs at once."""
    words = [word for word in arguments if word not in ("-h", "--help")]
    options, changes = parse_train(words)
    if len(words) < len(arguments):
        _print_help(options, changes)
        return
    from recall import api
    from recall.training.loggers import default_callbacks

    callback = default_callbacks(options.quiet, options.tensorboard, options.wandb)
    _tell_end(api.start_fleet(spec_of(options, changes), options.out, callback))


@dataclass(frozen=True)
class TrainOptions(Checked):
    """The options of `recall train` that are not settings. None: the file's, or the default."""

    sequence: tuple[str, ...] | None = None
    """Sequences of one length: names, or tasks joined by commas. Every word is a sequence."""
    seeds: tuple[int, ...] | None = None
    """Seeds. Each gives one run of every sequence."""
    method: str | None = None
    """Name of a method; see `recall list methods`. Its own settings are options below."""
    preset: str | None = None
    """Name of a preset, which sets the defaults of the options; see `recall list presets`."""
    config: Path | None = None
    """A .json or .toml file with settings. It overrides the preset; options override the file."""
    out: Path | None = None
    """Folder for records, policies and checkpoints. (None: a new one in runs/)"""
    vary: tuple[str, ...] = ()
    """Settings with a run for each of their values, such as learning_rate=1e-3,3e-4."""
    quiet: Flag = False
    """Print no progress and no warnings, only how training ended."""
    tensorboard: bool = True
    """Whether to write TensorBoard events."""
    wandb: str | None = None
    """Also log to this Weights & Biases project."""


@dataclass(frozen=True, kw_only=True)
class _AllOptions(TrainOptions):
    """Everything that `recall train --help` shows, without None for what has a default."""

    sequence: tuple[str, ...]
    seeds: tuple[int, ...]
    method: str
    preset: str
    schedule: Annotated[ScheduleSettings, arg(name="")]
    world: Annotated[WorldSettings, arg(name="")]
    learner: Annotated[LearnerSettings, arg(name="")]
    method_settings: Annotated[Any, arg(name="")]


def parse_train(arguments: Sequence[str]) -> tuple[TrainOptions, dict[str, Words]]:
    """Return the options that follow `recall train`, and the settings as words by name.

    The words become values when they are merged with the preset and the file, in
    `recall.config.resolve`, because their types depend on the method.
    """
    given, free = split_options(arguments, {})
    if free:
        raise BadValueError(
            f"unexpected argument {free[0]!r}: `recall train` takes options, such as --sequence "
            "cw3-1; `recall train --help` shows them"
        )
    own = {field.name for field in fields(TrainOptions)}
    return from_plain(TrainOptions, {name: given.pop(name) for name in own & set(given)}), given


def spec_of(options: TrainOptions, changes: Mapping[str, Words]) -> "FleetSpec":
    """Return the fleet that the options ask for."""
    from recall.config.resolve import resolve
    from recall.config.spec import each_alone

    varied = {
        name: [Words((value,)) for value in values.split(",")]
        for name, values in values_by_name("--vary", options.vary).items()
    }
    return resolve(
        options.method,
        None if options.sequence is None else each_alone(options.sequence),
        options.seeds,
        options.preset,
        config=options.config,
        changes=changes,
        vary=varied,
    )


def _print_help(options: TrainOptions, changes: Mapping[str, Words]) -> None:
    """Print every option; defaults are those of the method, the preset and the file."""
    from recall.config.resolve import ARGUMENTS, read_config

    spec = spec_of(options, changes)
    in_file = read_config(options.config)[0] if options.config else {}
    default = _AllOptions(
        sequence=tuple(dict.fromkeys(run.sequence for run in spec.runs)),
        seeds=tuple(dict.fromkeys(run.seed for run in spec.runs)),
        method=spec.method.name,
        preset=options.preset or (ARGUMENTS | in_file)["preset"],
        config=options.config,
        schedule=spec.settings.schedule,
        world=spec.settings.world,
        learner=spec.settings.learner,
        method_settings=spec.method,
    )
    about = f"{train_command.__doc__} {_NAMES_HELP} {PLUGIN_HELP}"
    tyro.cli(_AllOptions, prog="recall train", description=about, default=default, args=["--help"])


def resume(
    folder: Annotated[Positional[Path], arg(metavar="FOLDER")],
    quiet: Flag = False,
    tensorboard: bool = True,
    wandb: str | None = None,
) -> None:
    """Continue an interrupted fleet, exactly as if it had never stopped.

    Args:
        folder: Folder of an unfinished fleet.
        quiet: Print no progress and no warnings, only how training ended.
        tensorboard: Whether to write TensorBoard events.
        wandb: Also log to this Weights & Biases project.
    """
    from recall import api
    from recall.training.loggers import default_callbacks

    _tell_end(api.resume(folder, callback=default_callbacks(quiet, tensorboard, wandb)))


def evaluate(
    folder: Annotated[Positional[Path], arg(metavar="FOLDER")],
    episodes: int | None = None,
    task: tuple[str, ...] = (),
    workers: int | None = None,
    seed: int | None = None,
    json: AsJson = False,
) -> None:
    """Evaluate the trained policies of a fleet again; of an archive, those that it keeps.

    Tasks that do not report success have a dash instead of success rates, or null in JSON.

    Args:
        folder: Folder of a fleet, or of an archived fleet.
        episodes: Number of episodes per task and mode. None: the fleet's own setting.
        task: Tasks to evaluate; all if none are given. A name, such as push or, of a task that the
            sequence repeats, "3 push"; or a position, from 0 on.
        workers: Number of worker processes. None: one per core.
        seed: Seed of other episodes. None: the episodes of the last evaluation in training.
        json: Print one JSON document.
    """
    from recall import api
    from recall.runs.description import read_description

    records = api.evaluate(folder, episodes, task or None, workers=workers, seed=seed)
    runs = read_description(folder)["runs"]
    _tell_left_out(folder, [run["name"] for run in runs])
    without_flag = _without_success_flag(folder, records)
    rows: list[dict[str, Any]] = []
    for record in records:
        run = runs[record["run"]]
        rows.append(record | {"run": run["name"]})
        if record["task"] in without_flag:
            rows[-1] |= {"success": None, "last_success": None}
        if not json:
            rows[-1]["task"] = numbered(run["tasks"])[record["position"]]
    if json:
        print_json(rows)
        return
    columns = ("run", "task", "mode", "episodes", "success", "last_success", "return")
    print_rows([{name: row[name] for name in columns} for row in rows])


def _tell_left_out(folder: Path, names: Sequence[str]) -> None:
    """Name the runs of an archive whose policies it does not keep on standard error."""
    from recall.runs.policies import runs_with_policies
    from recall.runs.wording import counted, few

    kept = runs_with_policies(folder, names)
    if left_out := [name for index, name in enumerate(names) if index not in kept]:
        count = f"{len(left_out)} of {counted(len(names), 'run')}"
        tell(f"{count} archived without policies: {few(left_out, 3)}")


def _without_success_flag(folder: Path, records: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the tasks that do not report success, neither in training nor in these records."""
    from recall.analysis.collection import read_all
    from recall.runs.description import tasks_without_success_flag_in

    without_flag = set(tasks_without_success_flag_in(folder))
    if without_flag:
        without_flag -= {record["task"] for record in records if record["success"]}
        without_flag -= {task for run in read_all([folder])[0] for task in run.reached}
    return without_flag


def _tell_end(results: Any) -> None:
    from recall.runs.wording import counted

    failed = results.outcome.failed
    runs = len(results.runs)
    print(f"finished: {runs - len(failed)} of {counted(runs, 'run')}, in {results.folder}")
    for name, step in failed.items():
        tell(f"failed: {name} at step {step}")
