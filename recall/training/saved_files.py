"""The files beside a fleet's checkpoints: their stamps, checking them and cutting them back.

A checkpoint needs the records, the transitions and the policies of finished tasks. Its metadata
hold the stamps of these files, and what the fleet was started as. The checkpoint behind the last
stage needs no transitions, so a finished fleet, which has removed them, can write its end again.
"""

from pathlib import Path
from typing import Any

from recall.errors import RecallError
from recall.files.stamps import Stamp, check_all, read_stamps
from recall.replay.history import History
from recall.runs.description import differences, edits_in_words, identity, read_description
from recall.runs.store import Store

Metadata = dict[str, Any]


class SavedFiles:
    """The files of one fleet that its checkpoints need."""

    def __init__(self, folder: Path, store: Store, history: History):
        self._folder, self._store, self._history = folder, store, history
        self._started_as = identity(read_description(folder))
        self.policies: dict[str, Stamp] = {}
        """The stamps of the policies that were written, by path."""

    def add_policies(self, stamps: dict[str, Stamp]) -> None:
        """Add the policies of a finished task, which every later checkpoint needs."""
        self.policies |= stamps

    def sync(self, stage: int) -> Metadata:
        """Flush everything to disk; return what a checkpoint in this stage says about it."""
        return {
            "fleet": self._started_as,
            "records": self._store.sync(),
            "replay": self._history.sync(stage),
            "policies": self.policies,
        }

    def check(self, metadata: Metadata) -> None:
        """Raise an error for another fleet's checkpoint, or if a file it needs is damaged."""
        if changes := differences(self._started_as, metadata["fleet"]):
            raise RecallError(f"it belongs to another fleet: {edits_in_words(changes)}")
        self._store.check(read_stamps(metadata["records"]))
        if not self._history.is_over(metadata["progress"]["stage"]):
            self._history.check(read_stamps(metadata["replay"]))
        check_all(self._folder, read_stamps(metadata["policies"]))

    def restore(self, metadata: Metadata | None) -> None:
        """Cut all files back to a checkpoint that was checked, or to nothing, and refill replay."""
        if metadata is None:
            self._store.cut({})
            self._history.restore(0, {})
            return
        self._store.cut(read_stamps(metadata["records"]))
        stage = metadata["progress"]["stage"]
        if not self._history.is_over(stage):
            self._history.restore(stage, read_stamps(metadata["replay"]))
        self.policies = read_stamps(metadata["policies"])
