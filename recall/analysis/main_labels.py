"""Which labels stand for a method where its variants are not shown."""

from collections.abc import Iterable

from recall.analysis.naming import IMPORTED, grouped
from recall.analysis.run_result import RunResult


def main_labels(runs: Iterable[RunResult]) -> list[str]:
    """Return the labels without variants of each method, or all its labels if it has no others.

    Runs that were imported from other code count apart from ours: they have settings of their own,
    so neither can stand for the other. Runs that only the code of plug-ins tells apart are no
    variants. Labels are in the order of methods, then of `runs`.
    """
    chosen: list[str] = []
    for by_method in grouped(runs, lambda run: run.method).values():
        main: set[str] = set()
        for group in grouped(by_method, lambda run: run.source).values():
            plain = {run.label for run in group if run.variant in ("", IMPORTED, run.code)}
            main |= plain or {run.label for run in group}
        chosen += dict.fromkeys(run.label for run in by_method if run.label in main)
    return chosen
