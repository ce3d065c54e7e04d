"""Checkpoints: the complete state that a fleet resumes from, written atomically.

Orbax writes arrays to a new folder, which is renamed once it is complete, and unpickles nothing.
"""

import json
import logging
import os
import re
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np

from recall.errors import RecallError
from recall.files.fleet_layout import CHECKPOINTS

Array = np.ndarray
Metadata = dict[str, Any]
_OS_ERROR = re.compile(r"os_error_code='(\d+)'")


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
    """The checkpoints of one fleet, numbered 1, 2, 3, ..."""

    def __init__(self, folder: Path):
        import orbax.checkpoint as ocp  # slow to import; only training needs it

        # Orbax logs every step, and also logs the errors that it raises.
        logging.getLogger("absl").setLevel(logging.CRITICAL)
        _hush_stragglers()
        self._args = ocp.args
        self.folder = folder.resolve() / CHECKPOINTS
        self._manager = ocp.CheckpointManager(
            self.folder,
            options=ocp.CheckpointManagerOptions(max_to_keep=2, enable_async_checkpointing=False),
        )

    def save(self, arrays: Any, metadata: Metadata) -> None:
        """Write a checkpoint of a pytree of arrays and its metadata, which is plain data."""
        arrays = jax.tree.map(_storable, arrays)
        metadata = metadata | {"digest": _digest(arrays, metadata)}
        number = 1 + max(self._manager.all_steps(), default=0)
        try:
            self._manager.save(
                number,
                args=self._args.Composite(
                    arrays=self._args.StandardSave(arrays), metadata=self._args.JsonSave(metadata)
                ),
                force=True,
            )
        except Exception as error:  # orbax wraps the cause in errors of many types
            raise NotWrittenError(f"a checkpoint was not written: {_reason(error)}") from error

    def restore(
        self, like: Callable[[Metadata], Any], check: Callable[[Metadata], None]
    ) -> tuple[Any, Metadata, list[str]] | None:
        """Return the newest intact checkpoint: arrays, metadata and complaints.

        `like` returns arrays of the shapes that belong to the metadata of a checkpoint, and `check`
        may raise an error if other files that it needs are damaged. Returns None if no checkpoint
        was ever written. Newer ones that cannot be used are deleted, or they would displace others.
        """
        complaints: list[str] = []
        numbers = sorted(self._manager.all_steps(), reverse=True)
        for number in numbers:
            try:
                arrays, metadata = self._read(number, like)
                check(metadata)
            except Exception as error:  # a damaged file can make orbax raise anything
                complaints.append(f"checkpoint {number} cannot be used ({_reason(error)})")
                continue
            for damaged in numbers[: numbers.index(number)]:
                self._manager.delete(damaged)
            return arrays, metadata, complaints
        if complaints:
            raise NoCheckpointError(
                f"no checkpoint in {self.folder} can be used: {'; '.join(complaints)}. Restore the "
                "damaged files from a copy, or train again in another folder"
            )
        return None

    def _read(self, number: int, like: Callable[[Metadata], Any]) -> tuple[Any, Metadata]:
        item: Any = self._args.Composite(metadata=self._args.JsonRestore())
        found: Any = self._manager.restore(number, args=item)
        metadata = dict(found.metadata)
        wanted = like(metadata)
        shapes = jax.tree.map(lambda leaf: _storable(np.zeros(leaf.shape, leaf.dtype)), wanted)
        item = self._args.Composite(arrays=self._args.StandardRestore(shapes))
        found = self._manager.restore(number, args=item)
        if _digest(found.arrays, metadata) != metadata["digest"]:
            raise ValueError("its checksum does not match its content")
        leaves, structure = jax.tree.flatten(found.arrays)
        whole = [
            leaf if full.size else np.zeros(full.shape, full.dtype)
            for leaf, full in zip(leaves, jax.tree.leaves(wanted), strict=True)
        ]
        return jax.tree.unflatten(structure, whole), metadata

    def close(self) -> None:
        """Close orbax's checkpoint manager."""
        self._manager.close()


def _storable(leaf: Any) -> Array:
    """Return the leaf as an array, with a single 0 in place of an empty array.

    Orbax cannot store empty arrays, such as the trunk of networks that share nothing.
    """
    array = np.asarray(leaf)
    return array if array.size else np.zeros(1, array.dtype)


def _digest(arrays: Any, metadata: Metadata) -> int:
    """Return a checksum over the metadata and all leaves in order."""
    told = {name: fact for name, fact in metadata.items() if name != "digest"}
    value = zlib.crc32(json.dumps(told, sort_keys=True).encode())
    for leaf in jax.tree.leaves(arrays):
        value = zlib.crc32(np.ascontiguousarray(leaf).view(np.uint8).reshape(-1).data, value)
    return value


@cache
def _hush_stragglers() -> None:
    """Silence those writes of orbax that fail after the first failure, which is the one told."""
    before = sys.unraisablehook

    def hook(unraisable: Any) -> None:
        if str(unraisable.exc_value) != "Event loop is closed":
            before(unraisable)

    sys.unraisablehook = hook
    logging.getLogger("asyncio").addFilter(
        lambda record: not (record.exc_info and _OS_ERROR.search(str(record.exc_info[1])))
    )


def _reason(error: Exception) -> str:
    """Return the system's error text if orbax gives the error code, else the message's start."""
    if isinstance(error, RecallError):
        return str(error)
    if code := _OS_ERROR.search(str(error)):
        return os.strerror(int(code[1]))
    return (str(error) or repr(error)).splitlines()[0][:200]
