"""The callback interface, and a callback that forwards every call to several others."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from recall.config.spec import FleetSpec
from recall.runs.evaluations import EvaluationRecord

Record = dict[str, Any]

# What JAX calls the step before compiling, which it reports when that step is over.
_LOWERED = "/jax/core/compile/jaxpr_to_mlir_module_duration"
_COMPILED = "/jax/core/compile/backend_compile_duration"


class Callback:
    """Base class of all callbacks. Its methods do nothing, as `--quiet` needs."""

    def on_start(self, spec: FleetSpec, folder: Path, total_steps: int) -> None:
        """Called when training starts in `folder`, or resumes after `total_steps` steps per run."""

    def on_steps(self, total_steps: int) -> None:
        """Called after each chunk."""

    def on_activity(self, what: str) -> None:
        """Called when something slow other than training begins; it lasts until the next step."""

    def on_compiled(self, seconds: float) -> None:
        """Called after a program was compiled, or loaded from the cache of compiled programs."""

    def on_evaluation_start(self, total_steps: int) -> None:
        """Called when an evaluation of the policies at this step is due, beside training."""

    def on_evaluation(self, total_steps: int, records: Sequence[EvaluationRecord]) -> None:
        """Called when all tasks were evaluated with the policies at step `total_steps`.

        Training has gone on meanwhile; evaluations arrive in the order of their steps.
        """

    def on_training(self, records: Sequence[Record]) -> None:
        """Called after training records were written."""

    def on_task_end(self, task: int) -> None:
        """Called when the task at this position ends; its last evaluation may still be running."""

    def on_checkpoint(self) -> None:
        """Called when a checkpoint is complete and everything that it refers to is on disk."""

    def on_failure(self, name: str, step: int, reason: str) -> None:
        """Called when a run has failed; the other runs keep training."""

    def on_health(self, name: str, step: int, warning: str) -> None:
        """Called when a run shows a new problem; the run keeps training."""

    def on_message(self, message: str) -> None:
        """Called with a message for the user."""

    def should_stop(self) -> bool:
        """Return True to stop training; asked after each `on_steps`. Everything is saved first."""
        return False

    def close(self) -> None:
        """Called when no more calls will follow. It may be called twice."""


class CallbackList(Callback):
    """A callback that forwards every call to its callbacks, in order."""

    def __init__(self, callbacks: Sequence[Callback]):
        self.callbacks = tuple(callbacks)

    def should_stop(self) -> bool:
        """Return True if any of the callbacks wants to stop."""
        return any(callback.should_stop() for callback in self.callbacks)


def _forwarding(name: str) -> Callable[..., None]:
    def forward(self: CallbackList, *args: Any) -> None:
        for callback in self.callbacks:
            getattr(callback, name)(*args)

    return forward


for _name in vars(Callback):
    if _name.startswith("on_") or _name == "close":
        setattr(CallbackList, _name, _forwarding(_name))


@contextlib.contextmanager
def reported_compiling(callback: Callback) -> Iterator[None]:
    """Report to `callback` what JAX compiles within this context."""
    import jax

    def heard(event: str, duration_secs: float, **kwargs: str | int) -> None:
        if event == _LOWERED:
            callback.on_activity("compiling")
        elif event == _COMPILED:
            callback.on_compiled(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(heard)
    try:
        yield
    finally:
        jax.monitoring.unregister_event_duration_listener(heard)
