"""Compilation cache that lets a resumed process compute the same bits on an accelerator."""

from pathlib import Path

from recall.training.own_programs import PROGRAMS, remove_foreign_programs


def keep_programs(folder: Path) -> None:
    """Store compiled programs in the fleet's folder, if JAX runs on an accelerator.

    Compiling for a GPU times several kernels and picks the fastest, so compiling the same code
    twice may give different rounding. A resumed process must therefore run the same programs as
    before: they are stored in the fleet's folder when they are first compiled, before anything
    runs them. Programs that this process compiled for another fleet are dropped; otherwise they
    would not be stored here. Programs that another user wrote are removed and not loaded.
    Compiling for a CPU always gives the same program.
    """
    import jax
    from jax.experimental.compilation_cache import compilation_cache

    if jax.default_backend() == "cpu":
        return
    remove_foreign_programs(folder)
    jax.clear_caches()
    compilation_cache.reset_cache()
    jax.config.update("jax_compilation_cache_dir", str((folder / PROGRAMS).resolve()))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
