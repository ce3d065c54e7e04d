"""Code of plug-ins on the two sides of a comparison."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from recall.analysis.run_result import RunResult
from recall.plugins.sources import Sources, differing, facts_in_words


def sources_of(run: RunResult) -> Sources:
    """Return what run.json says of the source code of plug-ins; older ones say nothing."""
    found: Sources = run.description.get("plugin_sources", {})
    return found


def differing_among(runs: Iterable[RunResult]) -> list[str]:
    """Return the plug-ins in whose code some of the runs are known to differ."""
    # Many runs have few codes, which are all that has to be compared.
    codes = {json.dumps(found, sort_keys=True): found for found in map(sources_of, runs)}
    pairs = combinations(codes.values(), 2)
    return sorted({name for pair in pairs for name in differing(*pair)})


def label_without_code(run: RunResult) -> str:
    """Return the label of a run as it was before `told_apart`."""
    return run.label.removesuffix(f", {run.code}") if run.code else run.label


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
