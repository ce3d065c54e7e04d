"""What a study is: a question, the runs that answer it, and the tables and figures that show it.

A study is data. Nothing here trains, and nothing else knows what a particular study compares.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# The paper's: every experiment with five seeds.
SEEDS = 5


@dataclass(frozen=True)
class Variant:
    """One side of a comparison: a method, and what is different about it here."""

    method: str
    name: str = ""
    """In folders and tables; the method's own name where none is given."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Settings, of the method or any others, by name."""
    shares: Mapping[str, float] = field(default_factory=dict)
    """Settings that are a part of the steps per task, so that they shrink with them."""

    @property
    def title(self) -> str:
        """What it is called."""
        return self.name or self.method


@dataclass(frozen=True)
class Study:
    """Every variant on every sequence with every seed."""

    name: str
    question: str
    variants: tuple[Variant, ...]
    sequences: tuple[str, ...]
    """By name or as tasks joined by commas; of several lengths if need be."""
    tables: tuple[str, ...] = ()
    """Of `recall report`: how the names of the tables that give the answer begin."""
    figures: tuple[str, ...] = ()
    """Of `recall report`: the kinds of figures that show it."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Settings that all variants share."""
    seeds: int = SEEDS
    transfer: bool = True
    """Whether the answer has forward transfer in it, which needs the study `reference` too."""


def methods(*names: str) -> tuple[Variant, ...]:
    """Methods as they are."""
    return tuple(Variant(name) for name in names)
