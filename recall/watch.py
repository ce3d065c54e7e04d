"""Watching a fleet train. The trainer tells a watcher what happens; watchers show it."""

from typing import Any


class Watcher:
    """Sees everything and shows nothing: `--quiet`, and the base of the others."""

    def on_steps(self, total_steps: int) -> None:
        """A chunk is done."""

    def on_evaluation(self, total_steps: int, records: list[dict[str, Any]]) -> None:
        """All tasks were evaluated."""

    def on_training(self, records: list[dict[str, Any]]) -> None:
        """Training records were written."""

    def on_task_end(self, task: int) -> None:
        """A stage is over."""

    def on_message(self, message: str) -> None:
        """Something a person should know."""
