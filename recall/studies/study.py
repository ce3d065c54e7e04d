"""The definition of a study: a question, the runs that answer it, and its tables and figures.

A study is data. Nothing here trains, and no other code knows what a particular study compares.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# As in the paper, where every experiment has five seeds.
SEEDS = 5


@dataclass(frozen=True)
class Variant:
    """One side of a comparison: a method, and the settings that differ in this study."""

    method: str
    name: str = ""
    """Name in folders and tables; the method's own name if empty."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Changed settings by name, of the method or any others."""
    shares: Mapping[str, float] = field(default_factory=dict)
    """Settings that are given as a fraction of the steps per task, so that they scale with it."""

    @property
    def title(self) -> str:
        """Return the name of the variant, or of its method if it has none."""
        return self.name or self.method


@dataclass(frozen=True)
class Study:
    """A study: every variant on every sequence with every seed."""

    name: str
    question: str
    variants: tuple[Variant, ...]
    sequences: tuple[str, ...]
    """Names of sequences, or tasks joined by commas. Lengths may differ."""
    tables: tuple[str, ...] = ()
    """Prefixes of the names of the `recall report` tables that give the answer."""
    figures: tuple[str, ...] = ()
    """Kinds of `recall report` figures that show the answer."""
    scale: float = 1.0
    """Steps per task and intervals of the whole study, as a factor like that of `--scale`."""
    seeds: int = SEEDS
    transfer: bool = True
    """Whether the answer includes forward transfer, which also needs the study `reference`."""


def methods(*names: str) -> tuple[Variant, ...]:
    """Return variants of the named methods without changes."""
    return tuple(Variant(name) for name in names)
