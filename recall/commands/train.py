"""`recall train`, `recall resume` and `recall evaluate`: the command-line interface of recall.api.

Every setting is an option. The set of options depends on the method, and their defaults depend on
the preset and the settings file, so these three are parsed first.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro
from tyro.conf import Positional, arg

from recall.commands.show import AsJson, print_json, print_rows
from recall.settings import LearnerSettings, ScheduleSettings, Settings, WorldSettings

Quiet = Annotated[bool, arg(help="Show no progress.")]
Wandb = Annotated[str | None, arg(help="Also log to this Weights & Biases project.")]
TensorBoard = Annotated[bool, arg(help="Whether to write TensorBoard events.")]

TRAIN_HELP = "Train a method on sequences of tasks, many runs at once."


def train_command(arguments: Sequence[str]) -> None:
    """Run `recall train` with the arguments that follow it on the command line."""
    from recall import api

    chosen = parse_train(arguments)
    results = api.train(
        chosen.method_settings,
        list(chosen.sequence),
        chosen.seeds,
        chosen.out,
        settings=Settings(chosen.world, chosen.learner, chosen.schedule),
        callback=_callback(chosen.quiet, chosen.tensorboard, chosen.wandb),
    )
    _tell_end(results)


def parse_train(arguments: Sequence[str]) -> "_TrainOptions":
    """Parse the arguments that follow `recall train`; return options with every setting."""
    from recall.config.presets import ARGUMENTS, choose, read_config
    from recall.methods import method_class

    first = _look_ahead(arguments)
    in_file, changes = read_config(first.config) if first.config else ({}, {})
    given = ARGUMENTS | in_file
    method = method_class(first.method or given["method"])
    preset = first.preset or given["preset"]
    method_settings, settings = choose(method.name, Settings(), preset, changes)
    default = _TrainOptions(
        sequence=_texts(given["sequence"]),
        seeds=given["seeds"],
        method=method.name,
        preset=preset,
        config=Path(first.config) if first.config else None,
        schedule=settings.schedule,
        world=settings.world,
        learner=settings.learner,
        method_settings=method_settings,
    )
    return tyro.cli(
        _TrainOptions, prog="recall train", description=TRAIN_HELP, default=default, args=arguments
    )


@dataclass(frozen=True)
class _TrainOptions:
    """The options of `recall train`, with all settings as top-level options."""

    sequence: tuple[str, ...]
    """Names of sequences, or tasks joined by commas. Several of one length train as one fleet."""
    seeds: tuple[int, ...]
    """Seeds. Each gives one run of every sequence."""
    method: str
    """Name of a method; see `recall list methods`. Its own settings are options below."""
    preset: str
    """Name of a preset, which sets the defaults of the options; see `recall list presets`."""
    config: Path | None = None
    """A .json or .toml file with settings. It overrides the preset; options override the file."""
    out: Path | None = None
    """Folder for records, policies and checkpoints. (None: a new one in runs/)"""
    quiet: Quiet = False
    tensorboard: TensorBoard = True
    wandb: Wandb = None
    schedule: Annotated[ScheduleSettings, arg(name="")] = field(default_factory=ScheduleSettings)
    world: Annotated[WorldSettings, arg(name="")] = field(default_factory=WorldSettings)
    learner: Annotated[LearnerSettings, arg(name="")] = field(default_factory=LearnerSettings)
    method_settings: Annotated[Any, arg(name="")] = field(default=None)


def _look_ahead(arguments: Sequence[str]) -> Any:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for name in ("--method", "--preset", "--config"):
        parser.add_argument(name)
    try:
        return parser.parse_known_args(list(arguments))[0]
    except argparse.ArgumentError:  # the full parser gives a better message
        return argparse.Namespace(method=None, preset=None, config=None)


def _texts(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _callback(quiet: bool, tensorboard: bool, wandb: str | None) -> Any:
    from recall.callbacks.defaults import default_callbacks

    return default_callbacks(quiet, tensorboard, wandb)


def resume(
    folder: Positional[Path],
    quiet: Quiet = False,
    tensorboard: TensorBoard = True,
    wandb: Wandb = None,
) -> None:
    """Continue an interrupted fleet, exactly as if it had never stopped."""
    from recall import api

    _tell_end(api.resume(folder, callback=_callback(quiet, tensorboard, wandb)))


def evaluate(
    folder: Positional[Path],
    episodes: Annotated[
        int | None, arg(help="Number of episodes per task and mode. None: the fleet's own setting.")
    ] = None,
    task: Annotated[tuple[str, ...], arg(help="Tasks to evaluate; all if none are given.")] = (),
    workers: Annotated[
        int | None, arg(help="Number of worker processes. None: one per core.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate the trained policies of a fleet again."""
    from recall import api

    records = api.evaluate(folder, episodes, task or None, workers=workers)
    names = [run["name"] for run in _description(folder)["runs"]]
    rows = [record | {"run": names[record["run"]]} for record in records]
    if as_json:
        print_json(rows)
        return
    columns = ("run", "task", "mode", "episodes", "success", "last_success", "return")
    print_rows([{name: _short(row[name]) for name in columns} for row in rows])


def _description(folder: Path) -> dict[str, Any]:
    from recall.results.store import read_description

    return read_description(folder)


def _short(value: Any) -> Any:
    return f"{value:.3g}" if isinstance(value, float) else value


def _tell_end(results: Any) -> None:
    from recall.results.wording import counted

    failed = results.outcome["failed"]
    runs = len(results.runs)
    print(f"finished: {runs - len(failed)} of {counted(runs, 'run')}, in {results.folder}")
    for name, step in failed.items():
        print(f"failed: {name} at step {step}", file=sys.stderr)
