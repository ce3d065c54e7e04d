"""Look up the paper's published numbers, stored in paper.json, to compare with ours."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

from recall.analysis.estimates import Estimate
from recall.analysis.labels import TRIPLETS, family_of

METHODS = ("fine_tuning", "ewc", "packnet", "clonex", "perfect_memory", "recall")
FAMILY_SIZE = 8


@cache
def published() -> dict[str, Any]:
    """Return the contents of paper.json."""
    return json.loads(files("recall.report").joinpath("paper.json").read_text("utf-8"))


def number(*path: str) -> Estimate | None:
    """Return the number at a path in the tables, or None if the paper has none."""
    found: Any = published()["tables"]
    for name in path:
        found = found.get(name, {})
    if isinstance(found, dict):
        low, high = found.get("ci90", (None, None))
        return Estimate(found["mean"], None if low is None else (low, high)) if found else None
    return Estimate(float(found))


def on_sequence(sequence: str, metric: str, method: str) -> Estimate | None:
    """Return a metric of a method on cw3-1 to cw3-8, cw6-1 to cw6-8, cw10 or cw20."""
    family = family_of(sequence)
    if family in TRIPLETS:
        return number(family, metric, sequence.rpartition("-")[2], method)
    return number(sequence, method, metric)


def over_family(family: str, metric: str, method: str) -> Estimate | None:
    """Return the mean over the eight sequences of CW3 or CW6."""
    return number(family, metric, "mean", method)
