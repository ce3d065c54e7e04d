"""Watching a fleet train. The trainer tells a watcher what happens; watchers show it."""

from recall.watch.base import Several, Watcher

__all__ = ["Several", "Watcher"]
