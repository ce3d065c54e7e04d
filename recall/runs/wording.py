"""Small pieces of sentences."""

from collections.abc import Iterable


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: `1 run`, `2 runs`, `3 methods and variants`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def spanned(values: Iterable[int]) -> str:
    """Return the range of some numbers: `5`, `3 to 5`."""
    found = sorted(set(values))
    low, high = found[0], found[-1]
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def few(names: Iterable[str], most: int) -> str:
    """Return the first names, and how many more there are; a single one more is named too."""
    everything = list(names)
    most += len(everything) == most + 1
    more = f" and {len(everything) - most} more" if len(everything) > most else ""
    return ", ".join(everything[:most]) + more
