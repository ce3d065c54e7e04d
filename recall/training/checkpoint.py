"""Checkpoints: everything that decides a fleet's future, written whole or not at all.

The learner's state goes through orbax, into a new folder that is renamed when it is whole; the
last two are kept. Transitions are in a log beside them (recall.replay.log); a checkpoint says
how much of the log it stands for. No pickle is read back.
"""

import json
import logging
import os
import re
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from recall.errors import RecallError

Array = np.ndarray
Metadata = dict[str, Any]
_LONGEST_REASON = 200

# Orbax tells of every step, and of errors that it raises as well.
logging.getLogger("absl").setLevel(logging.CRITICAL)


class NotWrittenError(RecallError):
    """A checkpoint could not be written; the one before is intact."""


class NoCheckpointError(RecallError):
    """There are checkpoints, and none of them can be read."""


class Checkpoints:
    """The checkpoints of one fleet, numbered 1, 2, 3, ..."""

    def __init__(self, folder: Path):
        import orbax.checkpoint as ocp  # slow to import; only training needs it

        _hush_stragglers()
        self._args = ocp.args
        self.folder = folder.resolve() / "checkpoints"
        self._manager = ocp.CheckpointManager(
            self.folder,
            options=ocp.CheckpointManagerOptions(max_to_keep=2, enable_async_checkpointing=False),
        )

    def save(self, arrays: Any, metadata: Metadata) -> None:
        """Save a pytree of arrays and some plain data."""
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
        except Exception as error:  # orbax wraps what went wrong in errors of many kinds
            raise NotWrittenError(f"a checkpoint was not written: {_reason(error)}") from error

    def restore(
        self, like: Any, check: Callable[[Metadata], None]
    ) -> tuple[Any, Metadata, list[str]] | None:
        """The newest checkpoint that is whole: arrays shaped as `like`, metadata, complaints.

        None where none was ever written. `check` may raise if what the metadata speak of is not
        there. What cannot be read is removed, so that it does not push out what can.
        """
        complaints: list[str] = []
        numbers = sorted(self._manager.all_steps(), reverse=True)
        for number in numbers:
            try:
                arrays, metadata = self._read(number, like)
                check(metadata)
            except Exception as error:  # whatever a damaged file makes orbax raise
                complaints.append(f"checkpoint {number} cannot be used ({_reason(error)})")
                continue
            for damaged in numbers[: numbers.index(number)]:
                self._manager.delete(damaged)
            return arrays, metadata, complaints
        if complaints:
            raise NoCheckpointError(
                f"no checkpoint in {self.folder} can be used: {'; '.join(complaints)}"
            )
        return None

    def _read(self, number: int, like: Any) -> tuple[Any, Metadata]:
        shapes = jax.tree.map(lambda leaf: _storable(np.zeros(leaf.shape, leaf.dtype)), like)
        found: Any = self._manager.restore(
            number,
            args=self._args.Composite(
                arrays=self._args.StandardRestore(shapes), metadata=self._args.JsonRestore()
            ),
        )
        metadata = dict(found.metadata)
        if _digest(found.arrays, metadata) != metadata["digest"]:
            raise ValueError("its numbers are not those that were saved")
        leaves, structure = jax.tree.flatten(found.arrays)
        whole = [
            leaf if wanted.size else np.zeros(wanted.shape, wanted.dtype)
            for leaf, wanted in zip(leaves, jax.tree.leaves(like), strict=True)
        ]
        return jax.tree.unflatten(structure, whole), metadata

    def close(self) -> None:
        """Finish with orbax."""
        self._manager.close()


def _storable(leaf: Any) -> Array:
    """Orbax stores no empty array (the trunk of networks that share nothing): a 0 stands for it."""
    array = np.asarray(leaf)
    return array if array.size else np.zeros(1, array.dtype)


def _digest(arrays: Any, metadata: Metadata) -> int:
    """A checksum over all leaves in order, and over the metadata."""
    told = {name: fact for name, fact in metadata.items() if name != "digest"}
    value = zlib.crc32(json.dumps(told, sort_keys=True).encode())
    for leaf in jax.tree.leaves(arrays):
        value = zlib.crc32(np.ascontiguousarray(leaf).view(np.uint8).reshape(-1).data, value)
    return value


def _hush_stragglers() -> None:
    """Let no thread of orbax print that it came too late to report a failure reported already."""
    if getattr(sys.unraisablehook, "hushes_orbax", False):
        return
    before = sys.unraisablehook

    def hook(unraisable: Any) -> None:
        if str(unraisable.exc_value) != "Event loop is closed":
            before(unraisable)

    hook.hushes_orbax = True  # type: ignore[attr-defined]
    sys.unraisablehook = hook


def _reason(error: Exception) -> str:
    """What the system said, where orbax tells its code; else the start of the message."""
    code = re.search(r"os_error_code='(\d+)'", str(error))
    if code is not None:
        return os.strerror(int(code[1]))
    lines = str(error).splitlines() or [repr(error)]
    return lines[0][:_LONGEST_REASON]
