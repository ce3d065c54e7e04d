"""Compilation caches: shared between commands, and exact for a fleet on an accelerator."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from recall.config.spec import FleetSpec
from recall.files.fleet_layout import PROGRAMS
from recall.training import shared_programs
from recall.training.agents import agent_of
from recall.training.own_programs import remove_foreign_programs, signing_too


@contextlib.contextmanager
def kept_programs(folder: Path, spec: FleetSpec, tell: Callable[[str], None]) -> Iterator[None]:
    """Load and store compiled programs within this context.

    Compiling for a GPU times several kernels and picks the fastest, so compiling the same code
    twice may give different rounding. A resumed process must therefore run the same programs as
    before: they are stored in the fleet's folder when they are first compiled, before anything
    runs them. A new fleet gets a copy of the programs that an earlier one of equal shapes left in
    the user's cache. Compiling for a CPU always gives the same program, so there all fleets use
    the user's cache itself. Programs that another user wrote are not loaded; `tell` is called with
    a message if a fleet had any.
    """
    import jax

    root = shared_programs.cache_folder()
    if jax.default_backend() != "cpu":
        shared = root and shared_programs.fleet_folder(root, _shapes(spec))
        with _stored_with(folder, shared, tell):
            yield
    # A cache that the user chose by JAX's own means is left alone.
    elif root is None or getattr(jax.config, "jax_compilation_cache_dir", None):
        yield
    else:
        shared = shared_programs.processor_folder(root)
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError):  # there may be no place to share them
                programs = shared_programs.prepare(shared)
                stack.callback(_settle, shared)
                stack.enter_context(signing_too(shared))
                stack.enter_context(_used(programs))
            yield


def _settle(shared: Path) -> None:
    with contextlib.suppress(OSError):
        shared_programs.settle(shared)


@contextlib.contextmanager
def _stored_with(folder: Path, shared: Path | None, tell: Callable[[str], None]) -> Iterator[None]:
    """Store programs in a fleet's folder; exchange them with the shared ones before and after."""
    import jax

    if removed := remove_foreign_programs(folder):
        tell(
            f"{removed} compiled programs of this fleet were not signed by this user, so they are "
            "compiled again; the last bits of results may differ"
        )
    if shared is not None:
        with contextlib.suppress(OSError):
            shared_programs.lend(shared, folder)
    # Programs that this process compiled for another fleet would not be stored here.
    jax.clear_caches()
    try:
        with _used((folder / PROGRAMS).resolve()):
            yield
    finally:
        if shared is not None:
            with contextlib.suppress(OSError):
                shared_programs.give_back(folder, shared)


@contextlib.contextmanager
def _used(programs: Path) -> Iterator[None]:
    """Have JAX load programs from this folder, and store all that it compiles there."""
    import jax

    wanted = {
        "jax_compilation_cache_dir": str(programs),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    before = {name: getattr(jax.config, name) for name in wanted}
    _configure(wanted)
    try:
        yield
    finally:
        _configure(before)


def _configure(values: dict[str, Any]) -> None:
    import jax
    from jax.experimental.compilation_cache import compilation_cache

    compilation_cache.reset_cache()
    for name, value in values.items():
        jax.config.update(name, value)


def _shapes(spec: FleetSpec) -> dict[str, Any]:
    """Return what the programs of a fleet depend on; too much is safe."""
    import jax

    description = spec.describe()
    schedule = description["settings"]["schedule"]
    sizes = {name: schedule[name] for name in ("steps_per_task", "replay_capacity", "chunk_steps")}
    return {
        "method": description["method"],
        "learner": description["settings"]["learner"],
        "sizes": sizes,
        "columns": agent_of(spec)[0].columns,
        "runs": len(spec.runs),
        "tasks": spec.tasks,
        "jax": jax.__version__,
        "devices": [device.device_kind for device in jax.devices()],
    }
