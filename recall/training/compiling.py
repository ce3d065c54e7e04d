"""Reporting of compilations: a first burst may take a minute in which no step is made."""

import contextlib
import functools
from collections.abc import Iterator

from recall.training.callbacks import Callback

_LOWERED = "/jax/core/compile/jaxpr_to_mlir_module_duration"  # the last event before compiling
_COMPILED = "/jax/core/compile/backend_compile_duration"
_listening: list[Callback] = []


@contextlib.contextmanager
def reported_compiling(callback: Callback) -> Iterator[None]:
    """Report to `callback` what JAX compiles within this context."""
    _register()
    _listening.append(callback)
    try:
        yield
    finally:
        _listening.remove(callback)


@functools.cache
def _register() -> None:
    """Listen to JAX, once for the whole process, because JAX has no public way to stop it."""
    import jax

    def heard(event: str, duration_secs: float, **kwargs: str | int) -> None:
        for callback in _listening:
            if event == _LOWERED:
                callback.on_activity("compiling")
            elif event == _COMPILED:
                callback.on_compiled(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(heard)
