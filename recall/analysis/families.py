"""Families of sequences: those that share tables and figures, such as cw3-1 to cw3-8."""

import re
from collections.abc import Iterable, Sequence

TRIPLETS = ("cw3", "cw6")
"""Families of eight sequences each, with a table for each metric."""
LONG = ("cw10", "cw20")
"""Sequences that share one table but are drawn one by one."""
PAIRS = "pairs"
_PAIR = re.compile(r"pair-\d+-\d+")
_NUMBERED = re.compile(r"([^,]+)-(\d+)")


def family_of(sequence: str) -> str:
    """Return the family: cw3 for cw3-1, pairs for pair-0-1, and any other sequence itself."""
    if is_pair(sequence):
        return PAIRS
    numbered = _NUMBERED.fullmatch(sequence)
    return numbered[1] if numbered else sequence


def is_pair(sequence: str) -> bool:
    """Return True for the named pairs of Continual World's tasks."""
    return _PAIR.fullmatch(sequence) is not None


def number_in_family(sequence: str) -> str:
    """Return the number of a sequence in its family, such as 3 for cw3-3, or an empty string."""
    numbered = _NUMBERED.fullmatch(sequence)
    return numbered[2] if numbered and not is_pair(sequence) else ""


def by_family(sequences: Iterable[str]) -> dict[str, list[str]]:
    """Return the sequences of each family, in order."""
    found: dict[str, list[str]] = {}
    for sequence in sequences:
        found.setdefault(family_of(sequence), []).append(sequence)
    return found


def family_title(family: str) -> str:
    """Return a family's name as a heading."""
    if family == PAIRS:
        return "Pairs of tasks"
    return family.upper() if family in (*TRIPLETS, *LONG) else family


def display_name(sequence: str, tasks: Sequence[str]) -> str:
    """Return a sequence's name, followed by its tasks if the name does not list them."""
    return ", ".join(tasks) if "," in sequence else f"{sequence} ({', '.join(tasks)})"


def left_out(tasks: Iterable[str]) -> str:
    """Return a sentence on the tasks that means of success leave out, or nothing without any."""
    names = ", ".join(dict.fromkeys(tasks))
    return f"Without {names}, whose success is not reported." if names else ""
