"""Signatures of compiled programs: they are loaded only if a process of this user wrote them.

A compiled program is machine code, so loading one from a folder of somebody else would run their
code. Every program in a fleet's folder is signed with a key that only this user can read, and
programs without a valid signature are removed before JAX could load them.
"""

import contextlib
import hashlib
import hmac
import json
import os
import secrets
from pathlib import Path

from recall.errors import RecallError
from recall.files.atomic import write_json
from recall.files.reading import read_json

PROGRAMS = "programs"
_SIGNATURES = "signatures.json"
_KEY_BYTES = 32
_signed_at: dict[Path, int] = {}  # modification times of folders whose programs are all signed


def sign_programs(folder: Path) -> None:
    """Sign the programs in a fleet's folder that are not signed yet, if there are any.

    This is called after every chunk, so a folder that has not changed is not read again.
    """
    programs = folder / PROGRAMS
    if not programs.is_dir() or _signed_at.get(programs) == programs.stat().st_mtime_ns:
        return
    known = _signatures(programs)
    new = [path for path in _files(programs) if path.name not in known]
    key = _key() if new else None
    if key is not None:
        known |= {path.name: _signature(key, path) for path in new}
        write_json(programs / _SIGNATURES, known)
    _signed_at[programs] = programs.stat().st_mtime_ns


def remove_foreign_programs(folder: Path) -> int:
    """Remove the programs in a fleet's folder that this user did not sign; return their number."""
    programs = folder / PROGRAMS
    known, key = _signatures(programs), _key()
    foreign = [
        path
        for path in _files(programs)
        if key is None or not hmac.compare_digest(known.get(path.name, ""), _signature(key, path))
    ]
    for path in foreign:
        path.unlink()
    return len(foreign)


def _files(programs: Path) -> list[Path]:
    return [
        path
        for path in sorted(programs.rglob("*"))
        if path.name != _SIGNATURES and (path.is_symlink() or path.is_file())
    ]


def _signatures(programs: Path) -> dict[str, str]:
    with contextlib.suppress(RecallError):
        content = read_json(programs / _SIGNATURES)
        if isinstance(content, dict):
            return {name: text for name, text in content.items() if isinstance(text, str)}
    return {}


def _signature(key: bytes, path: Path) -> str:
    content = hashlib.sha256(path.read_bytes()).hexdigest()
    return hmac.new(key, json.dumps([path.name, content]).encode(), "sha256").hexdigest()


def _key() -> bytes | None:
    """Return this user's key, which is made at first use, or None if it cannot be stored."""
    state = os.environ.get("XDG_STATE_HOME")
    path = (Path(state) if state else Path("~/.local/state").expanduser()) / "recall" / "key"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
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
