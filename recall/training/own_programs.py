"""Signatures of compiled programs: they are loaded only if a process of this user wrote them.

A compiled program is machine code, so loading one from a folder of somebody else would run their
code. Every program is signed with a key that only this user can read, and programs without a valid
signature are removed before JAX could load them. Each signature is a file beside its program, so
processes that share a folder can sign at the same time without a lock.
"""

import contextlib
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from recall.files.atomic import replacement
from recall.files.fleet_layout import PROGRAMS

_SIGNATURE = ".signature"  # JAX loads only files whose names end in -cache
_KEY_BYTES = 32
_signed_at: dict[Path, int] = {}  # modification times of folders whose programs are all signed
_shared: list[Path] = []  # folders outside the fleet's that JAX stores programs in


@contextlib.contextmanager
def signing_too(shared: Path) -> Iterator[None]:
    """Have `sign_programs` sign the programs in the folder `shared` too, within this context."""
    _shared.append(shared)
    try:
        yield
    finally:
        _shared.remove(shared)


def sign_programs(folder: Path) -> None:
    """Sign the programs in a fleet's folder, and in the shared one in use, that are not signed yet.

    This is called after every chunk, so a folder that has not changed is not read again. A program
    that another process is still writing may be signed too early; it then counts as damaged at the
    next start, and is compiled again.
    """
    _sign(folder / PROGRAMS)
    for shared in _shared:
        # A shared folder that cannot be read or written any more must not end the training.
        with contextlib.suppress(OSError):
            _sign(shared / PROGRAMS)


def _sign(programs: Path) -> None:
    if not programs.is_dir():
        return
    # Taken before the files are listed, so that what is stored meanwhile is signed next time.
    changed_at = programs.stat().st_mtime_ns
    if _signed_at.get(programs) == changed_at:
        return
    new = [path for path in _files(programs) if not _signature_file(path).exists()]
    key = _key() if new else None
    if key is not None:
        for path in new:
            with contextlib.suppress(FileNotFoundError):  # another process has removed it
                _write_signature(key, path)
    _signed_at[programs] = changed_at


def remove_foreign_programs(folder: Path) -> int:
    """Remove the programs in a folder that this user did not sign; return their number."""
    key = _key()
    foreign = [path for path in _files(folder / PROGRAMS) if not _is_signed(key, path)]
    for path in foreign:
        remove_program(path)
    return len(foreign)


def remove_program(path: Path) -> None:
    """Remove a program and its signature, unless another process has done so already."""
    path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # of a folder from elsewhere, it may be anything
        _signature_file(path).unlink()


def _files(programs: Path) -> list[Path]:
    return [
        path
        for path in sorted(programs.rglob("*"))
        if path.suffix != _SIGNATURE and (path.is_symlink() or path.is_file())
    ]


def _signature_file(path: Path) -> Path:
    return path.with_name(path.name + _SIGNATURE)


def _is_signed(key: bytes | None, path: Path) -> bool:
    file = _signature_file(path)
    if key is None or not file.is_file():
        return False
    try:
        return hmac.compare_digest(file.read_bytes(), _signature(key, path))
    except OSError:  # another process has removed it, or it cannot be read
        return False


def _write_signature(key: bytes, path: Path) -> None:
    # Named after the process, because others may sign the same program at the same time.
    temporary = path.with_name(f"{path.name}.{os.getpid()}{_SIGNATURE}")
    with replacement(_signature_file(path), temporary):
        temporary.write_bytes(_signature(key, path))


def _signature(key: bytes, path: Path) -> bytes:
    content = hashlib.sha256(path.read_bytes()).hexdigest()
    return hmac.new(key, json.dumps([path.name, content]).encode(), "sha256").hexdigest().encode()


def _key() -> bytes | None:
    """Return this user's key, which is made at first use, or None if it cannot be stored."""
    state = os.environ.get("XDG_STATE_HOME")
    path = (Path(state) if state else Path("~/.local/state").expanduser()) / "recall" / "key"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            # Not an atomic replacement: a key that another process has just stored must stay.
            new = path.with_name(f"key.{os.getpid()}")
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(_KEY_BYTES))
            with contextlib.suppress(FileExistsError):  # the first of several processes wins
                os.link(new, path)
            new.unlink()
        key = path.read_bytes()
    except (OSError, RuntimeError):  # no home folder, or one that is not writable
        return None
    return key if len(key) == _KEY_BYTES else None
