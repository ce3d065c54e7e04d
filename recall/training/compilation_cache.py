"""Compilation caches: shared between commands, and exact for a fleet on an accelerator."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from recall.config.spec import FleetSpec
from recall.training import shared_programs
from recall.training.agents import agent_of
from recall.training.own_programs import PROGRAMS, remove_foreign_programs


@contextlib.contextmanager
def kept_programs(folder: Path, spec: FleetSpec) -> Iterator[None]:
    """Load and store compiled programs within this context.

    Compiling for a GPU times several kernels and picks the fastest, so compiling the same code
    twice may give different rounding. A resumed process must therefore run the same programs as
    before: they are stored in the fleet's folder when they are first compiled, before anything
    runs them. A new fleet gets a copy of the programs that an earlier one of equal shapes left in
    the user's cache. Compiling for a CPU always gives the same program, so there all fleets use
    the user's cache itself. Programs that another user wrote are not loaded.
    """
    import jax

    root = shared_programs.cache_folder()
    if jax.default_backend() != "cpu":
        shared = root and shared_programs.fleet_folder(root, _shapes(spec))
        with _stored_with(folder, shared):
            yield
    # A cache that the user chose by JAX's own means is left alone.
    elif root is None or getattr(jax.config, "jax_compilation_cache_dir", None):
        yield
    else:
        shared = shared_programs.processor_folder(root)
        with contextlib.suppress(OSError):
            _use(shared_programs.prepare(shared))
        try:
            yield
        finally:
            jax.config.update("jax_compilation_cache_dir", None)
            with contextlib.suppress(OSError):
                shared_programs.settle(shared)


@contextlib.contextmanager
def _stored_with(folder: Path, shared: Path | None) -> Iterator[None]:
    """Store programs in a fleet's folder; exchange them with the shared ones before and after."""
    import jax

    remove_foreign_programs(folder)
    if shared is not None:
        with contextlib.suppress(OSError):
            shared_programs.lend(shared, folder)
    # Programs that this process compiled for another fleet would not be stored here.
    jax.clear_caches()
    _use((folder / PROGRAMS).resolve())
    try:
        yield
    finally:
        if shared is not None:
            with contextlib.suppress(OSError):
                shared_programs.give_back(folder, shared)


def _use(programs: Path) -> None:
    """Have JAX load programs from this folder, and store all that it compiles there."""
    import jax
    from jax.experimental.compilation_cache import compilation_cache

    compilation_cache.reset_cache()
    jax.config.update("jax_compilation_cache_dir", str(programs))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


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
