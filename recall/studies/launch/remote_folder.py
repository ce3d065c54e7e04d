"""A fleet's folder stored under a URL, so that the fleet can resume where no disk is shared.

    manifest.json   the content of the folder at the last checkpoint: the parts of each file
    parts/          the bytes of the parts; a part is written once and never changed

Files that only grow, such as records and transitions, gain a part at each checkpoint; other files
are one part. The manifest is replaced atomically after all parts that it names are stored, so it
always describes a folder from which the fleet can resume, even if a process is lost in between.
Storage is anything that fsspec supports: s3, gs, abfs, hdfs, sftp or a plain path.
"""

import contextlib
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from recall.config.spec import FleetSpec
from recall.errors import BadValueError, RecallError, how_to_install
from recall.files.atomic import TEMPORARY, StampedFile, replacing
from recall.files.fleet_layout import CHECKPOINTS, LOCK, OUTCOME
from recall.files.names import checked_path
from recall.files.reading import parse_json
from recall.files.stamps import DamagedFileError
from recall.training.callbacks import Callback

_MANIFEST = "manifest.json"
_GROWING = (".jsonl", ".rows")
_BLOCK_BYTES = 1 << 24


class OvertakenError(RecallError):
    """A later attempt at the same fleet has taken over."""


class RemoteFolder:
    """The files of one fleet under `url`, as one attempt at the fleet uses them."""

    def __init__(self, url: str, attempt: int = 1):
        self._files, self._root = filesystem(url)
        self._attempt = attempt
        # Path -> parts [[part, bytes], ...] and stamp (size and time) of each stored file.
        self._stored: dict[str, dict[str, Any]] = {}

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _manifest(self) -> dict[str, Any]:
        try:
            data = self._files.cat_file(self._at(_MANIFEST))
        except FileNotFoundError:
            return {"attempt": 0, "files": {}}
        return _checked(data, self._at(_MANIFEST))

    @property
    def last_attempt(self) -> int:
        """Return the number of the last attempt that started here, or 0 if none did."""
        return self._manifest()["attempt"]

    @property
    def finished(self) -> bool:
        """Return True if the fleet has finished."""
        return OUTCOME in self._manifest()["files"]

    def claim(self) -> None:
        """Claim the folder for this attempt; pushes of earlier attempts are refused from now on."""
        manifest = self._manifest()
        self._check(manifest)
        self._files.makedirs(self._at("parts"), exist_ok=True)
        self._replace(_MANIFEST, json.dumps(manifest | {"attempt": self._attempt}))

    def pull(self, folder: Path, only: str | None = None) -> None:
        """Fetch what was last pushed, if anything, into `folder`; `only` restricts it to one file.

        The outcome is written last, so a folder with an outcome is complete.
        """
        files = self._manifest()["files"]
        for name in sorted(files, key=lambda name: (name == OUTCOME, name)):
            if only in (None, name):
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                with replacing(path) as out:
                    for part, size in files[name]["parts"]:
                        self._copy(part, size, out)
                self._stored[name] = {"parts": files[name]["parts"], "stamp": _stamp(path)}

    def _copy(self, part: str, size: int, out: StampedFile) -> None:
        start = out.stamp.length
        with self._files.open(self._at(f"parts/{part}"), "rb") as source:
            shutil.copyfileobj(source, out, _BLOCK_BYTES)
        if (found := out.stamp.length - start) != size:
            raise DamagedFileError(
                f"{self._at(f'parts/{part}')} has {found} of {size} bytes: it is damaged"
            )

    def _check(self, manifest: dict[str, Any]) -> None:
        if manifest["attempt"] > self._attempt:
            raise OvertakenError(
                f"{self._root}: attempt {manifest['attempt']} has taken over from {self._attempt}"
            )

    def rebase(self, folder: Path) -> None:
        """Forget the parts of files that were cut back since they were stored."""
        for name, file in list(self._stored.items()):
            path = folder / name
            size = sum(size for _, size in file["parts"])
            if not path.exists() or path.stat().st_size < size:
                del self._stored[name]

    def push(self, folder: Path) -> None:
        """Store everything new in `folder`, then the manifest that makes it valid."""
        before = self._manifest()
        self._check(before)
        now = {}
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if path.is_file() and _counts(name):
                now[name] = self._store(name, path)
        self._stored = now
        kept = {name: {"parts": file["parts"]} for name, file in now.items()}
        self._check(self._manifest())  # storing took time, in which a later attempt may have begun
        self._replace(_MANIFEST, json.dumps({"attempt": self._attempt, "files": kept}))
        stale = _parts(before["files"]) - _parts(kept)
        for part in stale:
            with contextlib.suppress(FileNotFoundError):
                self._files.rm_file(self._at(f"parts/{part}"))

    def _store(self, name: str, path: Path) -> dict[str, Any]:
        """Store the missing parts of a file; return all its parts and its stamp."""
        stamp, size = _stamp(path), path.stat().st_size
        known = self._stored.get(name)
        if known is not None and known["stamp"] == stamp:
            return known
        parts = list(known["parts"]) if known is not None and name.endswith(_GROWING) else []
        start = sum(length for _, length in parts)
        if size > start or not parts:
            parts.append([self._put(name, path, start, size - start), size - start])
        return {"parts": parts, "stamp": stamp}

    def _put(self, name: str, path: Path, start: int, length: int) -> str:
        label = hashlib.sha256(f"{name} {self._attempt} {start} {_stamp(path)}".encode())
        part = f"{Path(name).name}-{label.hexdigest()[:16]}"
        with path.open("rb") as file, self._files.open(self._at(f"parts/{part}"), "wb") as out:
            file.seek(start)
            while length > 0 and (block := file.read(min(length, _BLOCK_BYTES))):
                out.write(block)
                length -= len(block)
        return part

    def _replace(self, name: str, text: str) -> None:
        """Write a file atomically: readers see either the complete old or the complete new one."""
        temporary = self._at(f"{name}.{self._attempt}.tmp")
        self._files.pipe_file(temporary, text.encode())
        self._files.mv(temporary, self._at(name))


class RemoteFolderCallback(Callback):
    """A callback that pushes the folder at every checkpoint."""

    def __init__(self, remote_folder: RemoteFolder):
        self._remote_folder = remote_folder
        self._folder = Path()

    def on_start(self, spec: FleetSpec, folder: Path, total_steps: int) -> None:
        """Adapt to files that were cut when the fleet was restored to its last checkpoint."""
        self._folder = folder
        self._remote_folder.rebase(folder)

    def on_checkpoint(self) -> None:
        """Push the folder, which now holds exactly what the checkpoint needs."""
        self._remote_folder.push(self._folder)


def filesystem(url: str) -> tuple[Any, str]:
    """Return the fsspec filesystem of a URL and the path in it."""
    try:
        import fsspec
    except ImportError:
        raise BadValueError(f"storage {url} needs fsspec: {how_to_install('ray')}") from None
    try:
        files, path = fsspec.core.url_to_fs(url)
    except (ValueError, ImportError) as error:  # an unknown protocol, or a missing package
        raise BadValueError(f"storage {url} cannot be used: {error}") from error
    return files, path.rstrip("/")


def _checked(data: bytes, where: str) -> dict[str, Any]:
    """Return the manifest in `data`; raise an error if it is none or names unsafe paths."""
    try:
        manifest = parse_json(data)
        for name, file in manifest["files"].items():
            checked_path(name, where)
            for part, size in file["parts"]:
                checked_path(part, where)
                if not isinstance(size, int):
                    raise ValueError(f"the size {size!r} is not a number")
        if not isinstance(manifest["attempt"], int):
            raise ValueError("it lacks the number of the attempt")
    except RecallError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadValueError(
            f"{where} cannot be used: it was damaged or edited ({error})"
        ) from error
    return manifest


def _counts(name: str) -> bool:
    """Return True if a file belongs to a checkpoint's content."""
    parts = name.split("/")
    half_written = parts[0] == CHECKPOINTS and len(parts) > 2 and not parts[1].isdigit()
    return name != LOCK and not name.endswith(TEMPORARY) and not half_written


def _stamp(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns]


def _parts(files: dict[str, Any]) -> set[str]:
    return {part for file in files.values() for part, _ in file["parts"]}
