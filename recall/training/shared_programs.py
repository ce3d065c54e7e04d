"""Compiled programs that this user's commands share, in the user's cache folder.

    ~/.cache/recall/          or $XDG_CACHE_HOME/recall, or $RECALL_COMPILATION_CACHE
        cpu-<machine>/programs/     everything compiled for the processor of this machine
        <fleet>/programs/           the programs of fleets of equal shapes on equal accelerators

A compiled program is machine code, so the folder is used only if this user owns it and nobody else
can write to it. `RECALL_COMPILATION_CACHE=off` switches sharing off.
"""

import hashlib
import json
import os
import platform
import shutil
import stat
from pathlib import Path
from typing import Any

from recall.files.fleet_layout import PROGRAMS
from recall.training.own_programs import (
    remove_foreign_programs,
    remove_program,
    sign_programs,
)

VARIABLE = "RECALL_COMPILATION_CACHE"
_OFF = ("off", "0", "false", "no")
_MOST_BYTES = 512 * 2**20


def cache_folder() -> Path | None:
    """Return the user's folder for compiled programs, or None if it is off or cannot be trusted."""
    chosen = os.environ.get(VARIABLE, "")
    if chosen.lower() in _OFF:
        return None
    try:
        home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
        folder = Path(chosen) if chosen else home / "recall"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        status = folder.lstat()
    except (OSError, RuntimeError):  # no home folder, or one that is not writable
        return None
    is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    return folder if is_own and not status.st_mode & 0o022 else None


def processor_folder(root: Path) -> Path:
    """Return the folder for programs of this machine's processor.

    Programs for a processor use all of its instructions, and a home folder may be shared with
    machines that have fewer.
    """
    return root / f"cpu-{_digest([platform.machine(), _processor_flags()])}"


def fleet_folder(root: Path, shapes: dict[str, Any]) -> Path:
    """Return the folder for programs of fleets with these shapes, on these accelerators."""
    return root / _digest(shapes)


def _digest(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _processor_flags() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = ("model name", "flags", "Features", "CPU part")
    return "\n".join(sorted({line for line in lines if line.startswith(names)}))


def prepare(folder: Path) -> Path:
    """Make the folder ready for JAX and return where its programs are.

    JAX loads whatever it finds there, so programs without a valid signature are removed. Other
    processes that use the folder sign theirs after every chunk, so they lose little.
    """
    programs = folder / PROGRAMS
    programs.mkdir(parents=True, exist_ok=True, mode=0o700)
    remove_foreign_programs(folder)
    return programs


def lend(shared: Path, fleet: Path) -> None:
    """Copy shared programs with their signatures to a fleet that has none."""
    if any((fleet / PROGRAMS).glob("*")):
        return
    programs = prepare(shared)
    shutil.copytree(programs, fleet / PROGRAMS, dirs_exist_ok=True)


def give_back(fleet: Path, shared: Path) -> None:
    """Copy the programs of a fleet to the shared ones, and bound the size of all."""
    source, target = fleet / PROGRAMS, prepare(shared)
    for path in source.rglob("*-cache"):
        copy = target / path.relative_to(source)
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
    settle(shared)


def settle(shared: Path) -> None:
    """Sign what was compiled, and remove the programs that were used least recently if too many."""
    sign_programs(shared)
    files = [path for path in shared.parent.glob(f"*/{PROGRAMS}/*-cache") if path.is_file()]
    found = sorted(((_last_use(path), path) for path in files), reverse=True)
    total = 0
    for _, path in found:
        total += path.stat().st_size
        if total > _MOST_BYTES:
            remove_program(path)


def _last_use(path: Path) -> float:
    status = path.stat()
    return max(status.st_atime, status.st_mtime)
