"""The methods that ran every sequence of CW3 or CW6, over which their means compare."""

from collections.abc import Iterator

from recall.report.tables.cells import main_labels
from recall.results.families import TRIPLETS, family_of
from recall.results.scores import ScoreBoard, Scores

ByLabel = dict[str, list[Scores]]
"""The scores of each label, one for each sequence of a family."""


def whole_families(board: ScoreBoard) -> Iterator[tuple[str, ByLabel]]:
    """Yield each family of several sequences with the labels that ran all of those gathered."""
    for family in TRIPLETS:
        members = [name for name in board.sequences if family_of(name) == family]
        found = {
            label: scores
            for label in main_labels(board, board.labels)
            if len(scores := list(board.among([label], members))) == len(members)
        }
        if len(members) > 1 and found:
            yield family, found
