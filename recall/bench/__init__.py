"""Speeds on this machine, measured together with those of other packages."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from recall.errors import RecallError
from recall.plugins.python_process import safe_path


def apart(function: Callable[..., Any], *arguments: Any, copies: int = 1) -> list[Any]:
    """Call a function in so many new processes at once, and return what each returns.

    They leave the device and this process as they found it.
    """
    with ProcessPoolExecutor(copies, mp_context=get_context("spawn")) as processes:
        try:
            with safe_path():
                started = [processes.submit(function, *arguments) for _ in range(copies)]
            return [each.result() for each in started]
        except RuntimeError as error:  # of JAX, or of a process that was killed
            raise RecallError(
                f"{', '.join(map(str, arguments))} could not be measured, perhaps for want of "
                f"memory: {str(error)[:200]}; --runs and --tasks ask for less"
            ) from error
