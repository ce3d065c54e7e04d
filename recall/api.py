"""The library interface for training, resuming and evaluating fleets. The commands wrap it."""

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from recall.collect.pool import cores
from recall.config.resolve import resolve
from recall.config.spec import FleetSpec, RunSpec, Sequences
from recall.config.stored import spec_from
from recall.errors import BadValueError, RecallError, UnknownNameError
from recall.files.atomic import NO_SPACE
from recall.files.fleet_layout import DESCRIPTION, status
from recall.files.names import file_name
from recall.files.paths import given_path
from recall.files.stamps import DamagedFileError
from recall.learn import fleet
from recall.methods import Method
from recall.report.results import Results, load_results
from recall.runs.description import WITHOUT_SUCCESS, check_unedited, read_description
from recall.runs.evaluations import EvaluationRecord
from recall.runs.fleet_folder import (
    after_full_disk,
    check_free,
    check_ours,
    check_same,
    check_trainable,
    check_unfinished,
    hold,
    resume_command,
)
from recall.runs.policies import read_policies, runs_with_policies
from recall.runs.store import Store
from recall.settings import Settings
from recall.settings.checked import Count, Range, from_plain
from recall.training.agents import agent_of, check_method, tasks_without_success
from recall.training.behaviour import Behaviour, only_random
from recall.training.callbacks import Callback, reported_compiling
from recall.training.checkpoint import NotWrittenError
from recall.training.evaluation import Evaluation, counts_of, evaluation_pool
from recall.training.loggers import default_callbacks
from recall.training.memory import check_memory, check_processes, explain_out_of_memory, measure
from recall.training.offline import write_minari
from recall.training.programs import kept_programs
from recall.training.provenance import other_versions, surroundings
from recall.training.signals import stopping
from recall.training.trainer import Interrupted, Trainer
from recall.worlds.registry import Task
from recall.worlds.simulator import TaskFailedError
from recall.worlds.task_names import TaskName, as_tasks, chosen_positions, numbered, positions_of
from recall.worlds.workers import Abandoned

Folder = str | Path
_STOPPING = (
    "stopping: saving first, once the computation or compilation in progress is over; "
    "a second signal exits at once"
)


class Stopped(Interrupted):
    """A signal stopped the fleet, which is saved. The process should end with `exit_status`."""

    def __init__(self, message: str, exit_status: int):
        super().__init__(message)
        self.exit_status = exit_status


def train(
    method: str | Method | None = None,
    sequence: Sequences | None = None,
    seeds: Iterable[int] | None = None,
    out: Folder | None = None,
    preset: str | None = None,
    settings: Settings | None = None,
    config: Folder | Mapping[str, Any] | None = None,
    callback: Callback | None = None,
    vary: Mapping[str, Iterable[float]] | None = None,
    **changes: Any,
) -> Results:
    """Train one method on every given sequence with every seed, all at once; return the results.

    Settings start from `settings`. They are changed by the `preset`, by `config`, then by
    `changes`. What is not given as an argument is taken from `config`, or else it is RECALL, cw3-1,
    seed 0 and the defaults. A signal that stops the fleet, such as Ctrl-C, raises
    `recall.api.Stopped` once it is saved.

    Args:
        method: Name of a method, or an object such as `recall.methods.Recall(batch_size=256)`, of
            which the preset changes only settings that still have their defaults.
        sequence: A name, tasks joined by commas, a list of tasks, by name or as functions that make
            Gymnasium environments, or a list of several sequences, all of the same length.
        seeds: Each gives one run of every sequence.
        out: Folder for records, policies and checkpoints. None: a new one in `runs/`.
        preset: Name of a preset, such as "quick".
        settings: All settings outside the method. None: the defaults.
        config: A .json or .toml file with settings, or a mapping like its content, such as a dict
            or a configuration of OmegaConf.
        callback: Is notified of progress. None shows progress and writes TensorBoard events.
        vary: Values of settings by name, such as `{"learning_rate": (1e-3, 3e-4)}`. There are runs
            for each, or for every combination, in one fleet and one compiled program.
        changes: Any setting of `recall.settings` or of the method by its name, such as
            `steps_per_task=100_000`, or within its group, such as `network={"hidden": (64, 64)}`.
    """
    return start_fleet(
        resolve(method, sequence, seeds, preset, settings, config, changes, vary), out, callback
    )


def start_fleet(
    spec: FleetSpec, out: Folder | None = None, callback: Callback | None = None
) -> Results:
    """Train a fleet in the folder `out`, or in a new folder in `runs/`; return its records."""
    callback = _checked(callback)
    Behaviour(spec, agent_of(spec)[0])  # both refuse what cannot be trained before a folder is made
    check_memory(spec)
    check_method(spec)
    folder = given_path(out, "out") if out is not None else _new_folder(spec)
    check_ours(folder)  # before a lock is written into it
    silent = tasks_without_success(spec)  # refuses environments that fail
    with hold(folder):
        return _start(spec, folder, callback, silent)


def run_fleet(
    spec: FleetSpec, folder: Folder, callback: Callback, command: Sequence[str] = ()
) -> Results:
    """Train a fleet from its start, or resume it if `folder` holds it; return its results.

    A finished fleet is only read, so callers with many fleets can call this for each fleet again
    until all are finished, without repeating work. `command` is recorded as what the user called;
    by default, it is this process's own.
    """
    folder = given_path(folder, "folder")
    check_ours(folder)
    with hold(folder):
        if not (folder / DESCRIPTION).exists():
            check_processes(spec, measure())
            check_method(spec)
            return _start(spec, folder, callback, tasks_without_success(spec), command)
        check_same(folder, spec.describe())
        check_unedited(folder, read_description(folder))
        if status(folder).is_over:
            return load_results(folder, spec.functions)
        check_trainable(folder)
        check_processes(spec, measure())
        return _run(spec, folder, callback)


def resume(
    folder: Folder, functions: Mapping[str, Task] | None = None, callback: Callback | None = None
) -> Results:
    """Continue the fleet in `folder` to its end, exactly as if it had never stopped.

    Args:
        folder: Folder of an unfinished fleet.
        functions: If the fleet was started with functions as tasks: from their names to them.
        callback: As for `recall.train`.
    """
    callback = _checked(callback)
    folder = given_path(folder, "folder")
    check_unfinished(folder)
    spec = _spec_in(folder, functions)
    check_memory(spec)
    with hold(folder):
        check_unfinished(folder)  # another process may have finished it meanwhile
        return _run(spec, folder, callback)


def _checked(callback: Callback | None) -> Callback:
    """Return the callback, or the default ones; refuse a function or a class."""
    if callback is not None and not isinstance(callback, Callback):
        raise BadValueError(
            f"callback is {callback!r}: expected an instance of a subclass of recall.Callback"
        )
    return default_callbacks() if callback is None else callback


def _spec_in(folder: Path, functions: Mapping[str, Task] | None) -> FleetSpec:
    """Return the fleet in a folder, as it was started."""
    description = read_description(folder)
    check_unedited(folder, description)
    try:
        return spec_from(description, functions)
    except BadValueError as error:
        raise BadValueError(f"{folder}: {error}") from error


def _start(
    spec: FleetSpec,
    folder: Path,
    callback: Callback,
    silent: Sequence[str],
    command: Sequence[str] = (),
) -> Results:
    described = spec.describe()
    check_free(folder, described)
    described |= surroundings(command)
    if silent:
        described[WITHOUT_SUCCESS] = list(silent)
        callback.on_message(
            f'warning: {", ".join(silent)}: one random episode of each showed no info["success"] '
            'or info["is_success"], so progress shows returns. If success is never reported, it is '
            "recorded as 0, and reports show returns of these tasks instead"
        )
    if warning := only_random(spec):
        callback.on_message(warning)
    return _run(spec, folder, callback, described)


def _run(
    spec: FleetSpec, folder: Path, callback: Callback, described: dict[str, Any] | None = None
) -> Results:
    """Train to its end a fleet that is `described` for the first time, or else resumed."""
    try:
        with (
            stopping(partial(callback.on_message, _STOPPING), callback.close) as stop,
            kept_programs(folder, callback.on_message),
            reported_compiling(callback),
            explain_out_of_memory(lambda: f"Then continue with `{resume_command(folder)}`"),
        ):
            # run.json is written once signals are handled: from then on there is something to
            # resume.
            store = Store(folder) if described is None else Store.create(folder, described)
            trainer = Trainer(spec, folder, store, callback, lambda: stop.signal_number is not None)
            with contextlib.closing(trainer):
                if described is None:
                    _restore(trainer, callback)
                trainer.run()
    except (Interrupted, Abandoned) as stopped:
        message = f"{stopped}. Continue with `{resume_command(folder)}`"
        if stop.signal_number is not None:
            raise Stopped(message, stop.exit_status) from None
        callback.on_message(message)
    except TaskFailedError as error:
        repaired = f"Repair the environment, then continue with `{resume_command(folder)}`"
        raise TaskFailedError(f"{str(error).rstrip('.')}. {repaired}") from error
    except (NotWrittenError, DamagedFileError, OSError) as error:
        reason = str(error)
        if isinstance(error, OSError):
            reason = f"{error.filename or folder}: {error.strerror}"
        if _was_removed(folder, error):
            raise RecallError(
                f"{reason}. Files in {folder} were removed or changed while the fleet trained, so "
                f"it is not finished. Restore them from a copy and continue with "
                f"`{resume_command(folder)}`, or train again in another folder"
            ) from error
        if isinstance(error, OSError) and error.errno not in NO_SPACE:
            raise
        raise NotWrittenError(f"{reason}. {after_full_disk(folder)}") from error
    finally:
        callback.close()
    return load_results(folder, spec.functions)


def _was_removed(folder: Path, error: Exception) -> bool:
    """Return True if the error comes from files that are no longer in the fleet's folder."""
    if isinstance(error, FileNotFoundError) and error.filename is not None:
        return Path(error.filename).is_relative_to(folder)
    return isinstance(error, DamagedFileError) or not (folder / DESCRIPTION).exists()


def _restore(trainer: Trainer, callback: Callback) -> None:
    for complaint in trainer.restore():
        callback.on_message(f"{complaint}; falling back to the previous one")
    if not trainer.total_steps:
        callback.on_message("no checkpoint was written yet: training starts from the beginning")
    if warning := other_versions(read_description(trainer.folder)):
        callback.on_message(warning)


def _new_folder(spec: FleetSpec) -> Path:
    """Return the first folder `runs/<method>-<sequences>[-N]` that does not exist."""
    sequences = "+".join(dict.fromkeys(run.sequence for run in spec.runs))
    name = file_name(f"{spec.method.name}-{sequences.replace(',', '+')}")
    number = 1
    while (folder := Path("runs") / (name if number == 1 else f"{name}-{number}")).exists():
        number += 1
    return folder


def evaluate(
    folder: Folder,
    episodes: int | None = None,
    tasks: Sequence[TaskName] | TaskName | None = None,
    functions: Mapping[str, Task] | None = None,
    workers: int | None = None,
    seed: int | None = None,
) -> list[EvaluationRecord]:
    """Evaluate the trained policies of a fleet; return a record for each run, task and mode.

    For an unfinished fleet, the tasks that are finished are evaluated, and for an archive the runs
    whose policies it keeps.

    Args:
        folder: Folder of a fleet, or of an archived fleet.
        episodes: Number of episodes of each mode. None: those of the fleet's own last evaluation,
            which are also the first ones of more.
        tasks: Names, such as "push" or, of a task that a sequence repeats, "3 push", or positions
            from 0 on. None: all.
        functions: If the fleet was started with functions as tasks: from their names to them.
        workers: Number of worker processes, which does not change results. None: one per core.
        seed: Of other episodes, which no evaluation in training had; they start alike in all runs.
    """
    episodes = from_plain(Count | None, episodes, "episodes")
    workers = from_plain(Count | None, workers, "workers")
    seed = from_plain(Annotated[int, Range(least=0)] | None, seed, "seed")
    folder = given_path(folder, "folder")
    spec = _spec_in(folder, functions)
    kept = runs_with_policies(folder, [run.name for run in spec.runs])
    runs = [spec.runs[index] for index in kept]
    shape = fleet.policy_shape(agent_of(spec)[0])
    policies = read_policies(folder, {run.name: run.task_names for run in runs}, shape.size)
    chosen = as_tasks(tasks)
    _check_tasks(runs, policies, chosen)
    wanted = [chosen_positions(chosen, run.task_names) for run in runs]
    counts = counts_of(spec.settings.schedule)
    if episodes is not None:
        counts = dict.fromkeys(counts, episodes)
    places = [
        (position, run)
        for position in sorted(policies)
        for run in range(len(runs))
        if position in wanted[run]
    ]
    step = (max(policies) + 1) * spec.steps_per_task
    evaluation = Evaluation(runs, step, counts, places, seed)
    most = min(workers or cores(), len(runs) * sum(counts.values()))  # more have nothing to play
    with contextlib.closing(evaluation_pool(runs, spec, shape, most)) as pool:
        for position, flat in policies.items():
            pool.snapshot[position] = flat
        pool.start(evaluation.episodes())
        records = evaluation.records(pool.results())
        return [{**record, "run": kept[record["run"]]} for record in records]


def export_minari(
    folder: Folder,
    dataset: str,
    tasks: Sequence[TaskName] | TaskName | None = None,
    run: str | None = None,
    functions: Mapping[str, Task] | None = None,
) -> Any:
    """Write what a fleet collected as a Minari dataset, and return it.

    The fleet must be finished, and trained with `keep_replay=True`.

    Args:
        folder: Folder of the fleet.
        dataset: Name of the dataset, such as "recall/push-v0".
        tasks: As for `recall.evaluate`. None: all.
        run: Name of the only run to export. None: all that did not fail.
        functions: If the fleet was started with functions as tasks: from their names to them.
    """
    folder = given_path(folder, "folder")
    spec, chosen = _spec_in(folder, functions), as_tasks(tasks)
    _check_tasks(spec.runs, range(spec.tasks), chosen)
    return write_minari(folder, spec, dataset, chosen, run)


def _check_tasks(
    runs: Sequence[RunSpec], there: Collection[int], tasks: Sequence[TaskName] | None
) -> None:
    """Raise an error for tasks that no run has at the positions `there`."""
    for task in tasks or ():
        if not any(set(there).intersection(positions_of(task, run.task_names)) for run in runs):
            shown = {numbered(run.task_names)[position] for run in runs for position in there}
            raise UnknownNameError("task of this fleet", task, sorted(shown))
