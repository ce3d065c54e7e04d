"""A lease on a study that is stored under a URL: only one process launches it at a time.

Storage has no locks. The holder writes its identity to a file and rewrites it every few seconds
(a beat). If the file does not change for a while, its holder is gone. Clocks of different machines
are never compared. If two processes take the lease at the same moment, each reads the file again
to see which of them was last. Should both get past that, no fleet is damaged: of two attempts at
the same fleet, the later one counts (recall.studies.launch.remote_folder).
"""

import contextlib
import json
import os
import socket
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from recall.errors import RecallError
from recall.runs.fleet_folder import FolderHeldError
from recall.studies.launch.remote_folder import filesystem

HOLDER = "launch.json"


@dataclass(frozen=True)
class Times:
    """The times of a lease in seconds."""

    between_beats: float = 10.0
    until_gone: float = 60.0
    to_settle: float = 1.0
    """Longer than another process needs to find no holder and write its own identity."""


@contextlib.contextmanager
def lease(url: str, times: Times | None = None) -> Iterator[None]:
    """Hold the lease on the study stored under `url`; no other process launches it meanwhile."""
    held = _Lease(url, times or Times())
    try:
        held.take()
    except OSError as error:
        raise RecallError(f"storage {url} cannot be used: {error}") from error
    beating = threading.Thread(target=held.keep, daemon=True)
    beating.start()
    try:
        yield
    finally:
        held.ended.set()
        beating.join()
        held.give_back()


class _Lease:
    def __init__(self, url: str, times: Times):
        self.ended = threading.Event()
        self._files, self._root = filesystem(url)
        self._path = f"{self._root}/{HOLDER}"
        self._url, self._times = url, times
        self._me = {"id": uuid.uuid4().hex, "pid": os.getpid(), "host": socket.gethostname()}
        self._beats = 0

    def take(self) -> None:
        self._files.makedirs(self._root, exist_ok=True)
        if (found := self._read()) is not None:
            self._wait_for_the_end_of(found)
        self._beat()
        time.sleep(self._times.to_settle)
        if not self._is_mine(found := self._read()):
            raise self._held(found)

    def _wait_for_the_end_of(self, holder: dict[str, Any]) -> None:
        print(
            f"{self._url} is or was in use by {_title(holder)}: checking whether it still is",
            file=sys.stderr,
            flush=True,
        )
        deadline = time.monotonic() + self._times.until_gone
        while time.monotonic() < deadline:
            time.sleep(self._times.between_beats / 5)
            found = self._read()
            if found is None:
                return
            if found != holder:
                raise self._held(found)

    def _held(self, holder: dict[str, Any] | None) -> FolderHeldError:
        return FolderHeldError(
            f"{self._url} is in use by {_title(holder)}: two processes cannot launch the same study"
        )

    def _read(self) -> dict[str, Any] | None:
        try:
            found = json.loads(self._files.cat_file(self._path))
            return found if isinstance(found, dict) else {}
        except FileNotFoundError:
            return None
        except ValueError:  # incomplete, while another process writes it
            return {}

    def _beat(self) -> None:
        self._beats += 1
        self._files.pipe_file(self._path, json.dumps(self._me | {"beat": self._beats}).encode())

    def _is_mine(self, found: dict[str, Any] | None) -> bool:
        return found is not None and found.get("id") == self._me["id"]

    def keep(self) -> None:
        """Rewrite the file until the lease ends; errors of the storage are retried."""
        while not self.ended.wait(self._times.between_beats):
            with contextlib.suppress(OSError):
                if self._is_mine(self._read()):
                    self._beat()

    def give_back(self) -> None:
        with contextlib.suppress(OSError):
            if self._is_mine(self._read()):
                self._files.rm_file(self._path)


def _title(holder: dict[str, Any] | None) -> str:
    if not holder or not {"pid", "host"} <= holder.keys():
        return "another process"
    return f"process {holder['pid']} on {holder['host']}"
