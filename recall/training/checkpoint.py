"""Checkpoints: the complete state that a fleet resumes from, each one a file written atomically.

`checkpoints/N.npz` holds the leaves of the learner's state in order, other arrays by name, and
plain data as JSON. A zip file has a checksum of each of its members, by which damage is noticed.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np

from recall.errors import RecallError
from recall.files.atomic import TEMPORARY, replacing
from recall.files.fleet_layout import CHECKPOINTS
from recall.files.reading import open_npz

Array = np.ndarray
Metadata = dict[str, Any]
_KEPT = 2  # if the newest one is damaged, there is one before


class NotWrittenError(RecallError):
    """A checkpoint could not be written; the previous one is intact."""


class NoCheckpointError(RecallError):
    """Checkpoints exist, but none of them can be read."""


@dataclass
class Progress:
    """Counters of a fleet's progress, which are the same for all runs that have not failed."""

    stage: int = 0
    steps: int = 0  # steps of the stage that are in replay
    updates: int = 0  # updates since the start of the run
    retrained: int = -1  # updates without new data at the end of the stage; -1 before its end
    evaluated: int = -1  # total steps at the last evaluation
    failed: dict[str, int] = field(default_factory=dict)  # run -> total step of its failure
    symptoms: dict[str, int] = field(default_factory=dict)  # counted by recall.runs.health
    episodes: list[list[Any]] = field(default_factory=list)  # ended since the last record


class Checkpoints:
    """The checkpoints of one fleet, numbered 1, 2, 3, ..., of which the newest two are kept."""

    def __init__(self, folder: Path):
        self.folder = folder / CHECKPOINTS
        # A fleet with results and without this folder has lost it and cannot be resumed.
        self.folder.mkdir(parents=True, exist_ok=True)

    def _paths(self) -> list[Path]:
        """Return the files of all checkpoints, the newest first."""
        found = [path for path in self.folder.glob("*.npz") if path.stem.isdecimal()]
        return sorted(found, key=lambda path: -int(path.stem))

    def save(self, learner: Any, arrays: Mapping[str, Array], metadata: Metadata) -> None:
        """Write a checkpoint of a pytree, arrays by name and metadata, which is plain data."""
        leaves = map(np.asarray, jax.tree.leaves(learner))
        text = np.frombuffer(json.dumps(metadata).encode(), np.uint8)
        named: dict[str, Any] = {"metadata": text, **arrays}
        earlier = self._paths()
        number = 1 + int(earlier[0].stem) if earlier else 1
        try:
            with replacing(self.folder / f"{number}.npz") as file:
                np.savez(file, *leaves, **named)
            for path in earlier[_KEPT - 1 :]:
                path.unlink()
        except OSError as error:
            raise NotWrittenError(f"a checkpoint was not written: {error.strerror}") from error

    def restore(
        self, like: Any, check: Callable[[Metadata], None]
    ) -> tuple[Any, dict[str, Array], Metadata, list[str]] | None:
        """Return the newest intact checkpoint: a pytree like `like`, arrays, metadata, complaints.

        `check` may raise an error if other files that the checkpoint needs are damaged. Returns
        None if no checkpoint was ever written. Newer ones that cannot be used are deleted, or they
        would displace others.
        """
        complaints: list[str] = []
        paths = self._paths()
        others = {path for path in self.folder.iterdir() if path.suffix != TEMPORARY} - {*paths}
        if others and not paths:
            raise NoCheckpointError(
                f"{self.folder} holds {min(others).name}, which is no checkpoint of this version: "
                "resume the fleet with the version that began it (run.json names its commit)"
            )
        for path in paths:
            try:
                learner, arrays, metadata = _read(path, like)
                check(metadata)
            except Exception as error:  # a damaged file can raise nearly anything
                reason = (str(error) or repr(error)).splitlines()[0]
                complaints.append(f"checkpoint {path.stem} cannot be used ({reason})")
                continue
            for damaged in paths[: paths.index(path)]:
                damaged.unlink()
            return learner, arrays, metadata, complaints
        if complaints:
            raise NoCheckpointError(
                f"no checkpoint in {self.folder} can be used: {'; '.join(complaints)}. Restore the "
                "damaged files from a copy, or train again in another folder"
            )
        return None


def _read(path: Path, like: Any) -> tuple[Any, dict[str, Array], Metadata]:
    """Return the content of a checkpoint; raise an error if it is damaged."""
    wanted, structure = jax.tree.flatten(like)
    with open_npz(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    metadata = json.loads(arrays.pop("metadata").tobytes())
    found = [arrays.pop(f"arr_{number}") for number in range(len(wanted))]
    if any(leaf.shape != full.shape for leaf, full in zip(found, wanted, strict=True)):
        raise ValueError("its arrays have other shapes than those of the fleet")
    # NumPy's files have no name for bfloat16, and call it two bytes.
    typed = [leaf.view(full.dtype) for leaf, full in zip(found, wanted, strict=True)]
    return jax.tree.unflatten(structure, typed), arrays, metadata
