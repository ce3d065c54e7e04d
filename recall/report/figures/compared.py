"""Scores that figures set side by side: over the sequences that all methods have."""

from recall.analysis.scores import ScoreBoard, Scores
from recall.report.figures.groups import Family
from recall.report.tables.cells import shared_sequences


def compared_scores(board: ScoreBoard, family: Family) -> tuple[dict[str, list[Scores]], str]:
    """Return the scores of each label over the sequences that all have, and a note for captions.

    A method that was run on the easy sequences alone would look better than one that was run on
    all. The note is empty if all labels have all sequences.
    """
    sequences = [group.sequence for group in family.groups]
    every = {label: board.among([label], sequences) for label in family.labels}
    found = {label: scores for label, scores in every.items() if scores}
    shared = shared_sequences(found.values())
    if all(len(scores) == len(shared) for scores in found.values()):
        return found, ""
    if not shared:
        return found, " The methods were run on different sequences, so they do not compare."
    names = ", ".join(name for name in sequences if name in shared)
    kept = {
        label: [each for each in scores if each.sequence in shared]
        for label, scores in found.items()
    }
    return kept, f" Means are over the sequences that every method has: {names}."
