"""Compiled programs, which JAX stores in this user's cache folder.

    cpu-<processor>/      everything compiled for the processor of this machine
    fleet-<digest>/       what an unfinished fleet runs on an accelerator
    shared/               what earlier fleets ran there, with which new ones begin

Compiling the same code twice for a GPU may round differently, so a resumed fleet must run the
programs it began with.
"""

import contextlib
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
from jax.experimental.compilation_cache.compilation_cache import reset_cache

from recall.files.fleet_layout import has_checkpoint, status
from recall.learn import fleet
from recall.training.provenance import processor

_MOST_BYTES = 2 * 2**30
_EVERYTHING = {
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}
# The permission of an accelerator's program on which no checkpoint depends yet.
_NEW = stat.S_IWUSR


@contextlib.contextmanager
def kept_programs(folder: Path, tell: Callable[[str], None]) -> Iterator[None]:
    """Load and store the compiled programs of the fleet in `folder`; free them at the end.

    Where the user chose a cache by JAX's own means, that is used instead.
    """
    chosen = getattr(jax.config, "jax_compilation_cache_dir")  # noqa: B009  (not typed)
    on_cpu, root = jax.default_backend() == "cpu", None if chosen else cache_root()
    programs = root and own_programs(root, folder)
    if root and on_cpu:  # a home folder may be shared by machines
        programs = root / f"cpu-{_digest(json.dumps(processor()))}"
    wanted: dict[str, Any] = {} if chosen and on_cpu else _EVERYTHING
    if not on_cpu:
        if programs and not programs.exists() and has_checkpoint(folder):
            tell("this machine has no compiled programs of this fleet: the last bits may differ")
        jax.clear_caches()  # what this process compiled for another fleet would not be stored
    if programs:
        wanted = {**wanted, "jax_compilation_cache_dir": str(programs)}
        with contextlib.suppress(OSError):  # without space or permission, everything is compiled
            if not on_cpu:
                _begin(programs)
            programs.mkdir(exist_ok=True)
    before = {name: getattr(jax.config, name) for name in wanted}
    try:
        _configure(wanted)
        yield
    finally:
        _free()
        _configure(before)
    if programs:
        with contextlib.suppress(OSError):
            if not on_cpu:
                _link(programs, programs.parent / "shared")
                if status(folder).is_over:
                    shutil.rmtree(programs)
            _bound(programs.parent)


def _configure(values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        jax.config.update(name, value)
    reset_cache()


def _free() -> None:
    """Free the compiled programs of this process, which may take hundreds of megabytes."""
    for function in vars(fleet).values():
        if hasattr(function, "clear_cache"):  # a compiled one
            function.clear_cache()


def keep_programs(folder: Path) -> None:
    """Mark the programs that the fleet in `folder` has run, before a checkpoint depends on them.

    Those without the mark are compiled again: a killed process may have written half of one.
    """
    root = cache_root()
    for path in own_programs(root, folder).glob("*-cache") if root else ():
        if path.stat().st_mode & _NEW:
            with path.open("rb") as file:
                os.fsync(file.fileno())
            path.chmod(stat.S_IRUSR)


def cache_root() -> Path | None:
    """Return this user's folder for compiled programs, or None if it cannot be trusted or made.

    A compiled program is machine code: loading one that somebody else wrote would run their code.
    """
    try:
        root = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "recall"
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = root.lstat()
    except (OSError, RuntimeError):  # no home folder, or one that is not writable
        return None
    is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    return root if is_own and not found.st_mode & 0o022 else None


def own_programs(root: Path, folder: Path) -> Path:
    """Return where the programs of the fleet in `folder` are, if it trains on an accelerator."""
    return root / f"fleet-{_digest(str(folder.resolve()))}"


def _begin(programs: Path) -> None:
    """Begin with the programs of earlier fleets, or go on with those that were marked."""
    if not programs.exists():
        _link(programs.parent / "shared", programs)
    for path in programs.glob("*-cache"):
        if path.stat().st_mode & _NEW:
            path.unlink()


def _link(source: Path, target: Path) -> None:
    """Add the marked programs of one folder to another, without copying them."""
    target.mkdir(exist_ok=True)
    for path in source.glob("*-cache"):
        if not (path.stat().st_mode & _NEW or (target / path.name).exists()):
            os.link(path, target / path.name)


def _bound(root: Path) -> None:
    """Remove the programs that were used least recently if all together are too large."""
    found = [(path.stat(), path) for path in root.glob("*/*-cache")]
    total = 0.0
    for info, path in sorted(found, key=lambda each: -max(each[0].st_atime, each[0].st_mtime)):
        total += info.st_size / info.st_nlink
        if total > _MOST_BYTES:
            path.unlink(missing_ok=True)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
