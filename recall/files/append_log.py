"""Append-only files with a running checksum, which are cut back to a stamp on resuming."""

import os
from pathlib import Path
from typing import BinaryIO

from recall.files.atomic import sync, writing_to
from recall.files.stamps import Stamp, stamp_of


class AppendLog:
    """A file that only grows, except when it is cut back to what a checkpoint covers."""

    def __init__(self, path: Path):
        self.path = path
        self._file: BinaryIO | None = None
        self._stamp: Stamp | None = None  # unknown until it is needed
        self._new = False  # whether its name is not on disk yet

    def open(self) -> BinaryIO:
        """Open the file, or create it, without following a link; return the open file."""
        if self._file is None:
            self._new = not self.path.exists()
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            with writing_to(self.path):
                descriptor = os.open(self.path, flags, 0o666)
            # Unbuffered, so that no pending data is written after a failure.
            self._file = os.fdopen(descriptor, "r+b", buffering=0)
        return self._file

    def append(self, data: bytes) -> None:
        """Append data to the file."""
        file, stamp, view = self.open(), self.stamp(), memoryview(data)
        while view:  # an unbuffered write may be partial
            written = file.write(view)
            stamp = self._stamp = stamp.after(view[:written])
            view = view[written:]

    def stamp(self) -> Stamp:
        """Return the stamp of the whole file."""
        if self._stamp is None:
            file = self.open()
            file.seek(0)
            self._stamp = stamp_of(file)
        return self._stamp

    def sync(self) -> Stamp:
        """Flush the file to disk; return its stamp."""
        if self._file is not None:
            os.fsync(self._file.fileno())
        if self._new:
            sync(self.path.parent)
            self._new = False
        return self.stamp()

    def cut(self, stamp: Stamp) -> None:
        """Cut the file back to a stamp that was checked."""
        self.open().truncate(stamp.length)
        self._stamp = stamp

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
