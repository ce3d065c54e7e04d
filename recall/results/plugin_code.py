"""Runs that differ in nothing but the code of their plug-ins: they are no copies of each other."""

import dataclasses
from collections.abc import Iterator, Sequence
from itertools import combinations

from recall.plugins.sources import Sources, differing, facts_in_words
from recall.results.run_result import RunResult


def sources_of(run: RunResult) -> Sources:
    """Return what run.json says of the source code of plug-ins; older ones say nothing."""
    found: Sources = run.description.get("plugin_sources", {})
    return found


def same_code(one: RunResult, other: RunResult) -> bool:
    """Return False if a plug-in of both runs is known to have had another source."""
    return not differing(sources_of(one), sources_of(other))


def told_apart(runs: Sequence[RunResult]) -> list[RunResult]:
    """Return the runs; labels name the code where it alone distinguishes two runs of a seed."""
    labels = dict.fromkeys(run.label for run in runs)
    plugins = {label: _dividing([run for run in runs if run.label == label]) for label in labels}
    return [_named(run, plugins[run.label]) for run in runs]


def _dividing(runs: Sequence[RunResult]) -> list[str]:
    """Return the plug-ins in whose code runs of one label, sequence and seed differ."""
    return sorted({name for pair in _of_one_seed(runs) for name in differing(*pair)})


def _of_one_seed(runs: Sequence[RunResult]) -> Iterator[tuple[Sources, Sources]]:
    groups: dict[tuple[str, int], list[RunResult]] = {}
    for run in runs:
        groups.setdefault((run.sequence, run.seed), []).append(run)
    for group in groups.values():
        yield from combinations(map(sources_of, group), 2)


def _named(run: RunResult, plugins: Sequence[str]) -> RunResult:
    found = sources_of(run)
    code = [f"{name} {facts_in_words(found[name])}" for name in plugins if name in found]
    if not code:
        return run
    return dataclasses.replace(
        run,
        label=", ".join([run.label, *code]),
        variant=", ".join([*filter(None, [run.variant]), *code]),
    )
