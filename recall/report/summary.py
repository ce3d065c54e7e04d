"""Summarise the results in sentences: which method performs best, and which forgets least."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from recall.analysis.collection import Collection
from recall.analysis.estimates import estimate, rank
from recall.analysis.frames import Analysis, list_of, select
from recall.analysis.labels import display_name, family_of, family_title, grouped
from recall.analysis.metrics import (
    FORGETTING,
    LOWER_IS_BETTER,
    METRICS,
    PERFORMANCE,
    TITLES,
    TRANSFER,
    Measure,
)
from recall.report.figures.bands import shown_labels
from recall.report.tables.notes import window_note
from recall.report.tables.table import BOLD, estimate_text
from recall.runs.wording import counted, few

_VERBS = {
    PERFORMANCE: "performs best",
    FORGETTING: "forgets least",
    TRANSFER: "transfers most to new tasks",
}
ENOUGH_RUNS = 5
_SHORT = 6  # most tasks that a title lists by name
_FEW = 3  # most names in a sentence; any further ones are counted


@dataclass(frozen=True)
class Verdict:
    """The findings on a set of sequences that belong together."""

    title: str
    sentences: tuple[str, ...]


def scope(collection: Collection) -> str:
    """Return a sentence that says how many methods, sequences and runs there are."""
    complete = sum(run.complete for run in collection.runs)
    sequences = len(collection.sequential.by_sequence())
    singles = len({run.tasks for run in collection.single.runs})
    what = [counted(sequences, "sequence")] if sequences else []
    what += [counted(singles, "single task")] if singles else []
    runs = len(collection.runs)
    return (
        f"{counted(len(collection.labels), 'method or variant', 'methods and variants')} on "
        f"{' and '.join(what)}: {counted(runs, 'run')}, "
        f"{'all' if complete == runs else f'{complete} of them'} complete."
    )


def measured(measure: Measure, scores: pd.DataFrame) -> str:
    """Return sentences that explain how success is measured and what brackets hold."""
    when = "at any step" if measure.field == "success" else "at the last step"
    window = f"{window_note(scores)} " if len(scores) else ""
    return (
        f"Success is reached {when} of an episode, by {measure.mode} policies. {window}Brackets "
        "hold 90 % bootstrap intervals, for which seeds are resampled; those of differences hold "
        f"Student's t intervals over the seeds that both have. {BOLD}"
    )


def few_seeds(collection: Collection) -> str:
    """Return a warning if intervals are of fewer than five runs, or an empty string."""
    complete = [run for run in collection.runs if run.complete]
    counts = list(Counter((run.label, run.sequence) for run in complete).values())
    if not counts or min(counts) >= ENOUGH_RUNS:
        return ""
    return (
        f"There are as few as {counted(min(counts), 'run')} of a method and sequence: such "
        "intervals are too narrow to rely on. Train five seeds or more."
    )


def verdicts(analysis: Analysis) -> list[Verdict]:
    """Return what can be said of each metric in each family, of the methods that ran all of it."""
    found = []
    for family, members in grouped(list_of(analysis.scores, "sequence"), family_of).items():
        rows = select(analysis.scores, sequence=members)
        ran_all = [
            label
            for label, part in rows.groupby("label", sort=False)
            if part.sequence.nunique() == len(members)
        ]
        # A method's variants count where its plain form, or no other method, was run.
        there = Collection(tuple(run for run in list_of(rows, "run") if run.label in ran_all))
        groups = {label: select(rows, label=label) for label in shown_labels(there)}
        sentences = [text for metric in METRICS if (text := _sentence(groups, metric))]
        if not groups:
            sentences = [
                f"No method was run on all {len(members)} sequences, so none can be compared here."
            ]
        tasks = rows.run.iloc[0].tasks
        title = f"{members[0]}, {len(tasks)} tasks"
        if len(members) > 1:
            title = f"{family_title(family)}, {len(members)} sequences"
        elif len(tasks) <= _SHORT:
            title = display_name(members[0], tasks)
        found.append(Verdict(title, tuple(sentences)))
    silent = analysis.collection.without_success
    returns = "No task reports success: the table of returns shows what was learned."
    return [*found, *(Verdict(name, (returns,)) for name in silent.by_sequence())]


def nothing_to_compare(collection: Collection) -> str:
    """Return a sentence for a report without verdicts."""
    if collection.sequential.runs:
        return "No run of a sequence is complete: there is nothing to compare yet."
    return "All runs are of single tasks: their tables and figures show what was learned."


def _sentence(groups: Mapping[str, pd.DataFrame], metric: str) -> str:
    """Return what can be said of several labels, or an empty text if none has the metric."""
    means = {
        label: mean.estimate
        for label, rows in groups.items()
        if (mean := estimate(rows, metric)) is not None
    }
    if not means:
        return ""
    found = rank({label: groups[label] for label in means}, metric)
    words = {label: f"{label} {estimate_text(mean)}" for label, mean in means.items()}
    title = TITLES[metric]
    if found.best is None:
        reason = ". They cannot be ranked: two seeds in common and equal steps are needed"
        listed = few(words.values(), 2 * _FEW)
        return f"{title.capitalize()}: {listed}{reason if len(means) > 1 else ''}."
    apart = [label for label in means if label not in (found.best, *found.differences)]
    without = f" Not ranked: {few(apart, _FEW)}." if apart else ""
    best = estimate_text(means[found.best])
    others = [
        f"{label} with {estimate_text(means[label])} (a difference of {estimate_text(difference)})"
        for label, difference in found.differences.items()
        if label in found.undecided or not found.undecided
    ]
    if not found.undecided:
        told = f"{found.best} {_VERBS[metric]}: {title} {best}; next is {others[0]}."
    else:
        which = "lowest" if metric in LOWER_IS_BETTER else "highest"
        told = f"{found.best} has the {which} {title}, {best}; "
        told += f"{few(others, _FEW)} cannot be told from it."
    return told + without
