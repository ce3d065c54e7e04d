"""The accelerator, and what makes a resumed process compute the same bits on it."""

from pathlib import Path


def keep_programs(folder: Path) -> None:
    """On an accelerator, keep compiled programs with the fleet.

    Compiling for a GPU times several kernels and takes the fastest, so the same code compiled
    twice may round differently. A resumed process must run the very programs of before: they are
    stored in the fleet's folder when they are first compiled, before anything runs them. Programs
    that this process compiled for another fleet are dropped, or they would not be stored here.
    Compiling for a CPU always gives the same program.
    """
    import jax
    from jax.experimental.compilation_cache import compilation_cache

    if jax.default_backend() == "cpu":
        return
    jax.clear_caches()
    compilation_cache.reset_cache()
    jax.config.update("jax_compilation_cache_dir", str((folder / "programs").resolve()))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
