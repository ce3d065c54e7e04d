"""Reading of benchmarks: the output of `recall bench learner --json`, which reports show."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from recall.files.atomic import is_hidden
from recall.files.fleet_layout import DESCRIPTION
from recall.files.reading import read_json

_LARGEST_BYTES = 1 << 20


def read_benches(folders: Iterable[Path]) -> list[dict[str, Any]]:
    """Read the output of `recall bench learner --json` in the folders or one level below them."""
    found = []
    for folder in filter(os.path.isdir, folders):  # also skips folders without permission
        for path in sorted([*folder.glob("*.json"), *folder.glob("*/*.json")]):
            if path.name == DESCRIPTION or is_hidden(path.parent.name):
                continue
            if (bench := read_bench(path)) is not None:
                found.append(bench)
    return found


def read_bench(path: Path) -> dict[str, Any] | None:
    """Return the content of a benchmark's file, or None if it is something else."""
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            return None
        content = read_json(path)
        whole = content["rows"] and all(
            {"method", "runs", "ms_per_update"} <= set(row) and row["ms_per_update"] >= 0
            for row in content["rows"]
        )
    except (OSError, ValueError, KeyError, TypeError):  # not a benchmark file
        return None
    return content if whole and "device" in content else None
