"""Runs that were trained with different code of plug-ins: they are no copies of each other.

A digest shows that code was edited, and not whether the edit matters. So runs of one label whose
method or tasks may be a plug-in's get labels that name the code, and no mean is taken over both.
The names of the package's own methods and tasks cannot be taken by a plug-in: a plug-in that was
loaded beside them divides their runs only where one seed was trained with both codes. Otherwise a
sentence in the report says that they share a label.
"""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from recall.analysis.run_result import RunResult
from recall.methods import is_own_method
from recall.plugins.sources import Sources, differing, facts_in_words
from recall.runs.wording import few, listed
from recall.worlds.registry import is_own_task

_MOST_NAMED = 3


def sources_of(run: RunResult) -> Sources:
    """Return what run.json says of the source code of plug-ins; older ones say nothing."""
    found: Sources = run.description.get("plugin_sources", {})
    return found


def same_code(one: RunResult, other: RunResult) -> bool:
    """Return False if a plug-in of both runs is known to have had another source."""
    return not differing(sources_of(one), sources_of(other))


def of_package(method: str, tasks: Iterable[str]) -> bool:
    """Return True if a method and all tasks are the package's own, and so no plug-in's."""
    return is_own_method(method) and all(map(is_own_task, tasks))


def told_apart(runs: Sequence[RunResult]) -> list[RunResult]:
    """Return the runs; labels name the code of plug-ins where runs of one label differ in it."""
    plugins = {kind: _dividing(group, kind[1]) for kind, group in _by_kind(runs).items()}
    return [_named(run, plugins[_kind(run)]) for run in runs]


def _kind(run: RunResult) -> tuple[str, bool]:
    """Return the label of a run, and whether its method and tasks are the package's own."""
    return run.label, of_package(run.method, run.tasks)


def _by_kind(runs: Iterable[RunResult]) -> dict[tuple[str, bool], list[RunResult]]:
    groups: dict[tuple[str, bool], list[RunResult]] = {}
    for run in runs:
        groups.setdefault(_kind(run), []).append(run)
    return groups


def _dividing(runs: Sequence[RunResult], own: bool) -> list[str]:
    """Return the plug-ins whose code has to be in the labels of runs of one kind."""
    groups = _of_one_seed(runs) if own else [runs]
    return sorted({name for group in groups for name in differing_among(group)})


def _of_one_seed(runs: Iterable[RunResult]) -> Iterable[Sequence[RunResult]]:
    groups: dict[tuple[str, int], list[RunResult]] = {}
    for run in runs:
        groups.setdefault((run.sequence, run.seed), []).append(run)
    return groups.values()


def differing_among(runs: Iterable[RunResult]) -> list[str]:
    """Return the plug-ins in whose code some of the runs are known to differ."""
    # Many runs have few codes, which are all that has to be compared.
    codes = {json.dumps(found, sort_keys=True): found for found in map(sources_of, runs)}
    pairs = combinations(codes.values(), 2)
    return sorted({name for pair in pairs for name in differing(*pair)})


def code_in_words(run: RunResult, plugins: Iterable[str]) -> str:
    """Return the code of plug-ins that a run records, as text; those it lacks are left out."""
    found = sources_of(run)
    return ", ".join(f"{name} {facts_in_words(found[name])}" for name in plugins if name in found)


def _named(run: RunResult, plugins: Sequence[str]) -> RunResult:
    found = sources_of(run)
    code = {name: facts_in_words(found[name]) for name in plugins if name in found}
    if not code:
        return run
    words = code_in_words(run, code)
    return dataclasses.replace(
        run,
        label=f"{run.label}, {words}",
        variant=", ".join(filter(None, [run.variant, words])),
        code=words,
        # Tables of variants that differ in given settings alone must not take it for one of them.
        changes={**run.changes, **{f"plug-in {name}": facts for name, facts in code.items()}},
    )


def label_without_code(run: RunResult) -> str:
    """Return the label of a run as it was before `told_apart`."""
    return run.label.removesuffix(f", {run.code}") if run.code else run.label


def sharing_labels(runs: Iterable[RunResult]) -> list[str]:
    """Return sentences on runs that share a label, although the code of a plug-in differs."""
    labels: dict[tuple[str, str], list[str]] = {}
    for (label, _), group in _by_kind(runs).items():
        for name in differing_among(group):
            labels.setdefault((name, "; ".join(_seeds_of_each(name, group))), []).append(label)
    return [
        f"Runs of {few(found, _MOST_NAMED)} were trained while different code of the plug-in "
        f"{name} was loaded ({seeds}). They share a label, because their methods and tasks are the "
        "package's own."
        for (name, seeds), found in labels.items()
    ]


def _seeds_of_each(name: str, runs: Sequence[RunResult]) -> Iterator[str]:
    """Yield each code of a plug-in, and the seeds that were trained with it."""
    seeds: dict[str, set[int]] = {}
    for run in runs:
        if name in sources_of(run):
            seeds.setdefault(facts_in_words(sources_of(run)[name]), set()).add(run.seed)
    for code, found in seeds.items():
        yield f"{code}: {listed('seed', sorted(found))}"


def code_between(
    first: Sequence[RunResult], second: Sequence[RunResult]
) -> Iterator[tuple[str, list[str]]]:
    """Yield the plug-ins in which runs that are compared differ, and their code on either side.

    A side that did not load a plug-in has an empty text, unless its run.json is too old to know.
    """
    unlike = differing_among([*first, *second])
    known = all(
        any("plugin_sources" in run.description for run in side) for side in (first, second)
    )
    for name in dict.fromkeys(name for run in (*first, *second) for name in sources_of(run)):
        codes = [_codes(name, side) for side in (first, second)]
        if name in unlike or (known and not all(codes)):
            yield name, [", ".join(each) for each in codes]


def _codes(name: str, runs: Iterable[RunResult]) -> list[str]:
    """Return every code of a plug-in among the runs, in words."""
    found = [sources_of(run)[name] for run in runs if name in sources_of(run)]
    return sorted(set(map(facts_in_words, found)))
