"""Match the runs of two folders: those of the same method on the same sequence."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from recall.analysis.collection import Collection
from recall.analysis.labels import method_label
from recall.analysis.plugin_code import label_without_code
from recall.analysis.run_result import RunResult

_Codes = dict[str, list[RunResult]]  # the runs of each code of plug-ins


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


def _by_method(part: Collection) -> dict[str, dict[str, _Codes]]:
    """Return the runs of each method, of each label without the code of plug-ins, by that code."""
    found: dict[str, dict[str, _Codes]] = {}
    for runs in part.by_label().values():
        labels = found.setdefault(runs[0].method, {})
        labels.setdefault(label_without_code(runs[0]), {})[runs[0].code] = runs
    return found


def _pairs(
    ones: dict[str, _Codes], others: dict[str, _Codes]
) -> Iterator[tuple[list[RunResult], list[RunResult]]]:
    """Yield the runs with equal labels, or the only variant of each side."""
    if len(ones) == len(others) == 1:
        yield from _pairs_of_codes(next(iter(ones.values())), next(iter(others.values())))
        return
    for label in ones:
        if label in others:
            yield from _pairs_of_codes(ones[label], others[label])


def _pairs_of_codes(
    ones: _Codes, others: _Codes
) -> Iterator[tuple[list[RunResult], list[RunResult]]]:
    """Yield the runs of equal code of plug-ins, or those of every code with those of every other.

    Labels name the code only in a folder in which it differs, so equal code need not show.
    """
    if shared := [code for code in ones if code and code in others]:
        yield from ((ones[code], others[code]) for code in shared)
    else:
        yield from product(ones.values(), others.values())
