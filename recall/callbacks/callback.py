"""The calls that a callback receives."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recall.config.spec import FleetSpec

Record = dict[str, Any]


class Callback:
    """Sees everything and shows nothing: `--quiet`, and the base of the others."""

    def on_start(self, spec: FleetSpec, folder: Path, total_steps: int) -> None:
        """Training starts in `folder`, or goes on from `total_steps` steps of each run."""

    def on_steps(self, total_steps: int) -> None:
        """A chunk is done."""

    def on_activity(self, what: str) -> None:
        """Something other than training takes its time, until the next step."""

    def on_evaluation(self, total_steps: int, records: Sequence[Record]) -> None:
        """All tasks were evaluated."""

    def on_training(self, records: Sequence[Record]) -> None:
        """Training records were written."""

    def on_task_end(self, task: int) -> None:
        """A stage is over."""

    def on_checkpoint(self) -> None:
        """A checkpoint is whole, and everything it stands for is on disk."""

    def on_failure(self, name: str, step: int, reason: str) -> None:
        """A run has failed; the others go on."""

    def on_health(self, name: str, step: int, warning: str) -> None:
        """A run has a problem that it did not have before; it keeps training."""

    def on_message(self, message: str) -> None:
        """Something a person should know."""

    def close(self) -> None:
        """Nothing more will come. May be called twice."""


class CallbackList(Callback):
    """Tells everything to all of its callbacks, in order."""

    def __init__(self, callbacks: Sequence[Callback]):
        self.callbacks = tuple(callbacks)

    def on_start(self, spec: FleetSpec, folder: Path, total_steps: int) -> None:  # noqa: D102
        for callback in self.callbacks:
            callback.on_start(spec, folder, total_steps)

    def on_steps(self, total_steps: int) -> None:  # noqa: D102
        for callback in self.callbacks:
            callback.on_steps(total_steps)

    def on_activity(self, what: str) -> None:  # noqa: D102
        for callback in self.callbacks:
            callback.on_activity(what)

    def on_evaluation(self, total_steps: int, records: Sequence[Record]) -> None:  # noqa: D102
        for callback in self.callbacks:
            callback.on_evaluation(total_steps, records)

    def on_training(self, records: Sequence[Record]) -> None:  # noqa: D102
        for callback in self.callbacks:
            callback.on_training(records)

    def on_task_end(self, task: int) -> None:  # noqa: D102
        for callback in self.callbacks:
            callback.on_task_end(task)

    def on_checkpoint(self) -> None:  # noqa: D102
        for callback in self.callbacks:
            callback.on_checkpoint()

    def on_failure(self, name: str, step: int, reason: str) -> None:  # noqa: D102
        for callback in self.callbacks:
            callback.on_failure(name, step, reason)

    def on_health(self, name: str, step: int, warning: str) -> None:  # noqa: D102
        for callback in self.callbacks:
            callback.on_health(name, step, warning)

    def on_message(self, message: str) -> None:  # noqa: D102
        for callback in self.callbacks:
            callback.on_message(message)

    def close(self) -> None:  # noqa: D102
        for callback in self.callbacks:
            callback.close()
