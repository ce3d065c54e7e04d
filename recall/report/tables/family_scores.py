"""Scores of methods on the sequences of CW3 or CW6 that they share, over which means compare."""

from collections.abc import Iterator
from typing import NamedTuple

from recall.analysis.families import TRIPLETS, family_of
from recall.analysis.scores import ScoreBoard, Scores
from recall.report.tables.cells import main_labels_of, shared_sequences


class FamilyScores(NamedTuple):
    """Scores of each label, one for each of the sequences that all of these labels have."""

    family: str
    by_label: dict[str, list[Scores]]
    notes: tuple[str, ...]
    """Which sequences these are if there are others, and which labels are left out."""


def families(board: ScoreBoard) -> Iterator[FamilyScores]:
    """Yield each family of which labels share two sequences or more.

    As long as they do not, the label with the fewest sequences is left out.
    """
    for family in TRIPLETS:
        members = [name for name in board.sequences if family_of(name) == family]
        by_label = {
            label: scores
            for label in main_labels_of(board, board.labels)
            if (scores := list(board.among([label], members)))
        }
        left_out = []
        while by_label and len(shared := shared_sequences(by_label.values())) < 2:
            left_out.append(min(reversed(by_label), key=lambda label: len(by_label[label])))
            del by_label[left_out[-1]]
        if by_label:
            notes = [f"Over {', '.join(name for name in members if name in shared)}."]
            if left_out:
                notes.append(f"Left out: {', '.join(left_out)}, with too few of these.")
            kept = {
                label: [each for each in scores if each.sequence in shared]
                for label, scores in by_label.items()
            }
            yield FamilyScores(family, kept, tuple(notes) if len(shared) < len(members) else ())
