"""Collections of runs, gathered from all folders below the given ones.

A bad folder stops nothing: `problems` has a sentence on each, which every report shows.
"""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from recall.analysis import continual_world_logs
from recall.analysis.departures import settings_that_matter
from recall.analysis.labels import grouped, labelled, method_label, of_other_code
from recall.analysis.references import References, find_references, is_reference
from recall.analysis.run_result import RunResult, read_fleet
from recall.errors import BadValueError, UnknownNameError
from recall.files.fleet_layout import FLEET, LOG, TRACES, folders_below
from recall.files.paths import given_paths
from recall.settings.checked import given_texts

SHIPPED = Path(__file__).with_name("shipped")
"""An archive (recall.runs.archive) of single-task runs, for forward transfer without training."""


@dataclass(frozen=True)
class Collection:
    """Runs in the order of tables and figures, and the problems found while reading them."""

    runs: tuple[RunResult, ...]
    problems: tuple[str, ...] = ()
    reference_runs: tuple[RunResult, ...] = ()
    """Complete single-task runs of plain SAC to compare with, wherever they were found."""
    chosen: tuple[str, ...] = ()
    """The methods that were asked for, in order; empty if all are shown."""

    @property
    def labels(self) -> list[str]:
        """Every label once, in order."""
        return list(self.by_label())

    def by_label(self) -> dict[str, list[RunResult]]:
        """Return the runs of each label."""
        return grouped(self.runs, lambda run: run.label)

    def by_sequence(self) -> dict[str, "Collection"]:
        """Return a collection for each sequence; all share the problems and the references."""
        return {
            sequence: dataclasses.replace(self, runs=tuple(runs))
            for sequence, runs in grouped(self.runs, lambda run: run.sequence).items()
        }

    def where(self, condition: Callable[[RunResult], bool]) -> "Collection":
        """Return a collection of the runs for which `condition` holds; the references are kept."""
        return dataclasses.replace(self, runs=tuple(filter(condition, self.runs)))

    @property
    def sequential(self) -> "Collection":
        """The runs with more than one task."""
        return self.where(lambda run: len(run.tasks) > 1)

    @property
    def single(self) -> "Collection":
        """The runs with one task."""
        return self.where(lambda run: len(run.tasks) == 1)

    @property
    def with_success(self) -> "Collection":
        """The runs with at least one task that reports success."""
        return self.where(lambda run: run.reports_success)

    @property
    def without_success(self) -> "Collection":
        """The runs none of whose tasks reports success."""
        return self.where(lambda run: not run.reports_success)

    def references(self, run: RunResult, task: str) -> References:
        """Return the single-task runs of plain SAC on `task` that `run` may be compared with."""
        return find_references(run, task, self.reference_runs, shipped_references)


@cache
def shipped_references(folder: Path = SHIPPED) -> tuple[RunResult, ...]:
    """Return the complete single-task runs of plain SAC that are shipped with the package."""
    runs, _ = read_all([folder])
    return tuple(filter(is_reference, labelled(runs)))


def gather(
    folders: Iterable[str | Path] | str | Path,
    reference: Iterable[str | Path] | str | Path = (),
) -> Collection:
    """Gather every run below `folders`, ours and Continual World's, with distinct labels.

    Single-task runs below `reference` are used for comparison but not reported.
    """
    runs, problems = read_all(given_paths(folders, "folders"))
    others, more = read_all(given_paths(reference, "reference"))
    runs, same = _without_copies(runs)
    runs, strange = _of_one_meaning(runs)
    others, _ = _without_copies([*runs, *others])
    runs = labelled(runs)
    return Collection(
        tuple(runs),
        tuple(dict.fromkeys([*problems, *more, *same, *strange, *of_other_code(runs)])),
        tuple(filter(is_reference, labelled(others))),
    )


def read_all(folders: Iterable[Path]) -> tuple[list[RunResult], list[str]]:
    """Return the runs below some folders, reading each folder once, and the problems."""
    runs: list[RunResult] = []
    problems: list[str] = []
    seen: set[Path] = set()

    def unreadable(error: OSError) -> None:
        problems.append(f"{error.filename} cannot be read ({error.strerror}): left out.")

    for top in folders:
        before, found = len(problems), False
        for folder, kind in folders_below(top, unreadable):
            found = True
            if kind == TRACES:
                problems.append(f"{folder} has no {FLEET}, only other files of a fleet: left out.")
            elif folder.resolve() not in seen:
                seen.add(folder.resolve())
                read = read_fleet if kind == FLEET else continual_world_logs.read_log
                own, wrong = read(folder)
                runs += own
                problems += wrong
        if not found and len(problems) == before:
            problems.append(f"{top} holds no runs: there is no {FLEET} or {LOG} below it.")
    # An environment may mention success only once it is reached. A task that any run solved counts
    # as one that reports success: a run that never solves it has success 0 and belongs in the mean.
    reached = {task for run in runs if run.without_success for task in run.reached}
    for number, run in enumerate(runs):
        if reached.intersection(run.without_success):
            silent = tuple(task for task in run.without_success if task not in reached)
            runs[number] = dataclasses.replace(run, without_success=silent)
    return runs, problems


def _without_copies(runs: Sequence[RunResult]) -> tuple[list[RunResult], list[str]]:
    """Remove duplicates: of runs with equal settings, sequence and seed, keep the most advanced."""
    kept: dict[Any, RunResult] = {}
    problems = []
    for run in runs:
        settings = str(sorted(settings_that_matter(run.settings).items()))
        key = (run.method, run.sequence, run.tasks, run.seed, run.source, settings)
        if (other := kept.setdefault(key, run)) is not run:
            worse, kept[key] = sorted(
                [run, other], key=lambda run: (run.complete, run.steps.max(initial=0))
            )
            better = kept[key]
            problems.append(
                f"{worse.name} is in {worse.folder} and in {better.folder} with the same settings: "
                f"the one in {worse.folder} is left out."
            )
    return list(kept.values()), problems


def _of_one_meaning(runs: Sequence[RunResult]) -> tuple[list[RunResult], list[str]]:
    """Leave out runs whose sequence has the name of a different sequence."""
    first = {run.sequence: run for run in reversed(runs)}
    kept = [run for run in runs if run.tasks == first[run.sequence].tasks]
    problems = [
        f"The sequence {run.sequence} is {', '.join(other.tasks)} in {other.folder} and "
        f"{', '.join(run.tasks)} in {run.folder}: the runs of the latter are left out."
        for run in runs
        if run.tasks != (other := first[run.sequence]).tasks
    ]
    return kept, problems


def unequal_lengths(runs: Sequence[RunResult]) -> list[str]:
    """Return a sentence on the sequences whose runs were trained for different steps, if any."""
    several = [run for run in runs if len(run.tasks) > 1]  # figures show none of single tasks
    sequences: dict[tuple[int, ...], list[str]] = {}
    for sequence, group in grouped(several, lambda run: run.sequence).items():
        steps = tuple(sorted({run.steps_per_task for run in group}))
        sequences.setdefault(steps, []).append(sequence)
    return [
        f"{', '.join(names)}: there are runs of {' and '.join(f'{each:,}' for each in steps)} "
        "steps per task; figures show those with the most common number."
        for steps, names in sequences.items()
        if len(steps) > 1
    ]


def arranged(
    collection: Collection,
    methods: Sequence[str] | str = (),
    names: Mapping[str, str] | None = None,
) -> Collection:
    """Return a collection with only `methods`, in their order, and with labels renamed.

    A method is given by its name or label, which stand for all its variants, or by the label of
    one variant. `names` maps these to others; that of a method renames its part of every label
    ("RECALL, preset quick" becomes "Ours, preset quick") without a name of its own.
    """
    methods, names = given_texts(methods, "methods"), {} if names is None else names
    known = dict.fromkeys(name for run in collection.runs for name in _names_of(run))
    for name in (*methods, *names):
        if name not in known:
            raise UnknownNameError("method of this report", name, known)

    def places(run: RunResult) -> list[int]:
        """Return the places of a run among the chosen methods; its own label counts first."""
        return [methods.index(name) for name in _names_of(run) if name in methods]

    runs = [run for run in collection.runs if places(run) or not methods]
    if methods:
        runs.sort(key=lambda run: places(run)[0])
    renamed, labels = dict[str, str](), dict[str, str]()
    for run in collection.runs:
        own = method_label(run.method)
        renamed[own] = names.get(own, names.get(run.method, own))
        new = renamed[own] + run.label.removeprefix(own)
        labels[run.label] = names.get(run.label, new)
    for each in (renamed, labels):
        counts = Counter(each.values())
        for old, name in each.items():
            if counts[name] > 1 and name != old:
                raise BadValueError(f"{old}={name}: another method already has this name")
    shown = tuple(dataclasses.replace(run, label=labels[run.label]) for run in runs)
    return dataclasses.replace(collection, runs=shown, chosen=methods)


def _names_of(run: RunResult) -> tuple[str, str, str]:
    return run.label, run.method, method_label(run.method)
