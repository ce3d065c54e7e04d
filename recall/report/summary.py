"""Summarise the results in sentences: which method performs best and which forgets least."""

from collections.abc import Sequence
from dataclasses import dataclass

from recall.report.tables.cells import LOWER_IS_BETTER, main_labels, with_best_bold
from recall.report.tables.families import FAMILIES
from recall.report.tables.per_sequence import PAIR, display_name
from recall.report.tables.table import Cell, estimate_text
from recall.results.bootstrap import Sampled, mean_of
from recall.results.scores import FORGETTING, METRICS, PERFORMANCE, TRANSFER, ScoreBoard

_VERBS = {
    PERFORMANCE: "performs best",
    FORGETTING: "forgets least",
    TRANSFER: "transfers most to new tasks",
}
_NOUNS = {
    PERFORMANCE: "average performance",
    FORGETTING: "forgetting",
    TRANSFER: "forward transfer",
}
_SHORT = 6  # most tasks that a title lists by name
_FEW = 3  # most names in a sentence; any further ones are counted


@dataclass(frozen=True)
class Verdict:
    """The findings on a set of sequences that belong together."""

    title: str
    sentences: tuple[str, ...]


def scope(board: ScoreBoard) -> str:
    """Return a sentence that says how many methods, sequences and runs there are."""
    runs = board.collection.runs
    complete = sum(run.complete for run in runs)
    sequences = len(board.collection.sequential.sequences)
    singles = len(dict.fromkeys(run.tasks for run in board.collection.single.runs))
    what = [_count(sequences, "sequence")] if sequences else []
    what += [_count(singles, "single task")] if singles else []
    state = "all complete" if complete == len(runs) else f"{complete} of them complete"
    return (
        f"{_count(len(board.collection.labels), 'method or variant', 'methods and variants')} on "
        f"{' and '.join(what)}: {_count(len(runs), 'run')}, {state}."
    )


def measured(board: ScoreBoard) -> str:
    """Return sentences that explain how success is measured."""
    measure = board.measure
    when = "at any step" if measure.field == "success" else "at the last step"
    return (
        f"Success is reached {when} of an episode, by {measure.mode} policies; at the end of a "
        f"task it is the mean of the last {_count(measure.window, 'evaluation')}. Brackets hold "
        "90 % bootstrap intervals over runs."
    )


def verdicts(board: ScoreBoard) -> list[Verdict]:
    """Return the best method in each metric per family, among those that ran all of it."""
    found = []
    for title, members in _arenas(board):
        labels = [
            label
            for label in main_labels(board, board.labels)
            if all(board.get(label, member) for member in members)
        ]
        sentences = [
            sentence
            for metric in METRICS
            if (sentence := _sentence(board, labels, members, metric)) is not None
        ]
        found.append(Verdict(title, tuple(sentences) or (_nobody(members),)))
    return found


def _arenas(board: ScoreBoard) -> list[tuple[str, list[str]]]:
    """Return the families of sequences, followed by each remaining sequence on its own."""
    families: dict[str, list[str]] = {}
    for sequence in board.sequences:
        prefixes = [f"{family}-" for family in FAMILIES] + [PAIR]
        prefix = next((each for each in prefixes if sequence.startswith(each)), sequence)
        families.setdefault(prefix, []).append(sequence)
    return [(_title(board, members), members) for members in families.values()]


def _title(board: ScoreBoard, members: Sequence[str]) -> str:
    first = members[0]
    if len(members) > 1:
        pairs = first.startswith(PAIR)
        family = "Pairs of tasks" if pairs else first.rpartition("-")[0].upper()
        return f"{family}, {len(members)} sequences"
    tasks = next(each.tasks for each in board.scores.values() if each.sequence == first)
    return display_name(first, tasks) if len(tasks) <= _SHORT else f"{first}, {len(tasks)} tasks"


def _nobody(members: Sequence[str]) -> str:
    return f"No method was run on all {len(members)} of them, so that none can be compared here."


def _sentence(
    board: ScoreBoard, labels: Sequence[str], members: Sequence[str], metric: str
) -> str | None:
    there = {label: found for label in labels if (found := _over(board, label, members, metric))}
    if not there:
        return None
    cells = dict(zip(there, _marked(list(there.values()), metric), strict=True))
    lower = metric in LOWER_IS_BETTER
    order = sorted(there, key=lambda label: there[label].value, reverse=not lower)
    best, *others = order
    if not others:
        return f"{_NOUNS[metric].capitalize()} of {best}: {_text(cells[best])}."
    as_good = [label for label in others if cells[label].bold]
    if as_good:
        named = ", ".join(f"{label} with {_text(cells[label])}" for label in as_good[:_FEW])
        more = f" and {len(as_good) - _FEW} more" if len(as_good) > _FEW else ""
        end = f"{named}{more} cannot be told from it"
    else:
        end = f"next is {others[0]} with {_text(cells[others[0]])}"
    return f"{best} {_VERBS[metric]}: {_NOUNS[metric]} {_text(cells[best])}; {end}."


def _over(board: ScoreBoard, label: str, members: Sequence[str], metric: str) -> Sampled | None:
    """Return the mean over sequences, or None unless every sequence has a number."""
    parts = [
        part
        for member in members
        if (scores := board.get(label, member)) and (part := scores.metric(metric)) is not None
    ]
    return mean_of(parts) if len(parts) == len(members) else None


def _marked(found: Sequence[Sampled], metric: str) -> tuple[Cell, ...]:
    cells = [Cell(each.estimate) for each in found]
    return with_best_bold(cells, metric in LOWER_IS_BETTER)


def _text(cell: Cell) -> str:
    return estimate_text(cell.ours)


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
