"""Match the runs of two folders: those of the same method on the same sequence."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from recall.results.collection import Collection
from recall.results.labels import method_label
from recall.results.run_result import RunResult


@dataclass(frozen=True)
class Match:
    """Runs of the two folders that are compared: one method on one sequence."""

    sequence: str
    first: list[RunResult]
    second: list[RunResult]


def matches_of(first: Collection, second: Collection) -> tuple[list[Match], list[str]]:
    """Return what both have of each method and sequence, and sentences on the rest."""
    found, left_out = [], []
    sides = first.by_sequence(), second.by_sequence()
    for sequence in [name for name in sides[0] if name in sides[1]]:
        ones, others = (_by_method(side[sequence]) for side in sides)
        for method in [name for name in ones if name in others]:
            pairs = list(_pairs(ones[method], others[method]))
            found += [Match(sequence, *pair) for pair in pairs]
            if not pairs:
                left_out.append(
                    f"{method} on {sequence} has several variants in a folder and none in common: "
                    "left out. Name the folder of one variant."
                )
    for one, other, where in ((*sides, "second"), (*reversed(sides), "first")):
        if missing := [name for name in one if name not in other]:
            left_out.append(f"Not in the {where} folder: {', '.join(missing)}.")
    return found, left_out


def nothing_in_common(
    sides: Sequence[Collection], folders: Sequence[Path], left_out: Sequence[str]
) -> str:
    """Return why two folders without a match cannot be compared, and what shows both of them."""
    report = f"`{shlex.join(['recall', 'report', *map(str, folders)])}`"
    methods = [list(dict.fromkeys(run.method for run in side.runs)) for side in sides]
    if not set(methods[0]) & set(methods[1]):
        first, second = (
            f"{folder} has {', '.join(map(method_label, names))}"
            for folder, names in zip(folders, methods, strict=True)
        )
        return (
            f"{first} and {second}: only runs of the same method are compared between folders. "
            f"{report} shows both, with the differences between methods seed by seed"
        )
    return (
        f"{folders[0]} and {folders[1]} have no method and sequence in common: nothing can be "
        f"compared. {' '.join([*left_out, f'{report} shows both'])}"
    )


def _by_method(part: Collection) -> dict[str, dict[str, list[RunResult]]]:
    found: dict[str, dict[str, list[RunResult]]] = {}
    for label, runs in part.by_label().items():
        found.setdefault(runs[0].method, {})[label] = runs
    return found


def _pairs(
    ones: dict[str, list[RunResult]], others: dict[str, list[RunResult]]
) -> Iterator[tuple[list[RunResult], list[RunResult]]]:
    """Yield the runs with equal labels, or the only variant of each side."""
    if len(ones) == len(others) == 1:
        yield next(iter(ones.values())), next(iter(others.values()))
        return
    for label in ones:
        if label in others:
            yield ones[label], others[label]
