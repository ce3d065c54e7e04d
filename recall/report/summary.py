"""Summarise the results in sentences: which method is best in each metric, and what is unclear."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from recall.analysis.collection import Collection
from recall.analysis.estimates import estimate, rank
from recall.analysis.frames import Analysis, list_of, select
from recall.analysis.labels import display_name, family_of, family_title, grouped
from recall.analysis.metrics import FORGETTING, METRICS, TITLES, Measure
from recall.report.figures.bands import shown_labels
from recall.report.tables.pivot import BOLD, estimate_text
from recall.runs.wording import counted, few

ENOUGH_RUNS = 5
_SHORT = 6  # most tasks that a title lists by name
_FEW = 3  # most names in a sentence; any further ones are counted


class Verdict(NamedTuple):
    """The findings on a set of sequences that belong together."""

    title: str
    sentences: tuple[str, ...]


def scope(collection: Collection) -> str:
    """Return a sentence that says how many methods, sequences and runs there are."""
    sequences, singles = collection.sequential.by_sequence(), collection.single.by_sequence()
    what = [counted(len(sequences), "sequence")] if sequences else []
    what += [counted(len(singles), "single task")] if singles else []
    return (
        f"{counted(len(collection.labels), 'method or variant', 'methods and variants')} on "
        f"{' and '.join(what)}: {counted(len(collection.runs), 'run')}, "
        f"{sum(run.complete for run in collection.runs):,} complete."
    )


def measured(measure: Measure) -> str:
    """Return sentences that explain how success is measured and what brackets hold."""
    when = "at any step" if measure.field == "success" else "at the last step"
    return (
        f"Success is reached {when} of an episode, by {measure.mode} policies. Brackets hold 90 % "
        "bootstrap intervals, for which seeds are resampled; those of differences hold Student's "
        f"t intervals over the seeds that both have. {BOLD}"
    )


def few_seeds(collection: Collection) -> str:
    """Return a warning if intervals are of fewer than five runs, or an empty string."""
    counts = Counter((run.label, run.sequence) for run in collection.runs if run.complete)
    fewest = min(counts.values(), default=ENOUGH_RUNS)
    if fewest >= ENOUGH_RUNS:
        return ""
    return (
        f"There are as few as {counted(fewest, 'run')} of a method and sequence: such intervals "
        "are too narrow to rely on. Train five seeds or more."
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


def _sentence(groups: Mapping[str, pd.DataFrame], metric: str) -> str:
    """Return what can be said of several labels, or an empty text if none has the metric."""
    means = {
        label: estimate_text(mean.estimate)
        for label, rows in groups.items()
        if (mean := estimate(rows, metric)) is not None
    }
    found = rank({label: groups[label] for label in means}, metric)
    if found.best is None:
        listed = few((f"{label} {mean}" for label, mean in means.items()), 2 * _FEW)
        reason = ". They cannot be ranked: two seeds in common and equal steps are needed"
        many = reason if len(means) > 1 else ""
        return f"{TITLES[metric].capitalize()}: {listed}{many}." if means else ""
    others = [
        f"{label} with {means[label]} (a difference of {estimate_text(difference)})"
        for label, difference in found.differences.items()
        if label in found.undecided or not found.undecided
    ]
    which = "lowest" if metric == FORGETTING else "highest"
    told = f"{found.best} has the {which} {TITLES[metric]}, {means[found.best]}; "
    if found.undecided:
        told += f"{few(others, _FEW)} cannot be told from it."
    else:
        told += f"next is {others[0]}."
    apart = [label for label in means if label not in (found.best, *found.differences)]
    return told + (f" Not ranked: {few(apart, _FEW)}." if apart else "")
