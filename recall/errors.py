"""Exceptions for values that cannot be used. Messages give the value, the reason and a fix."""

import difflib
import sysconfig
import traceback
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

_FEW, _SHORT_LIST = 5, 15
_LIKENESS = 0.6  # of a name that is suggested; that of equal names is 1
_LISTED_BY = {
    "task": "recall list tasks",
    "sequence": "recall list sequences",
    "method": "recall list methods",
    "preset": "recall list presets",
    "study": "recall list studies",
    "setting": "recall train --help",
}


class RecallError(Exception):
    """Base class of errors that a user can fix; the command line prints no traceback for them."""


def required(module: str, purpose: str, package: str | None = None) -> Any:
    """Import a module of a package that only this purpose needs, or say how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = package or module.partition(".")[0]
        raise RecallError(
            f"{purpose} needs {package}: install it with `pip install {package}`"
        ) from error


class NoRunLeftError(RecallError):
    """Every run of a fleet failed, so there is nothing to resume. Its folder holds its outcome."""


class UnknownNameError(RecallError, ValueError):
    """Unknown name. The message suggests the nearest name and lists the valid ones.

    Of a long list, it shows only near names, and the command that lists all.
    """

    def __init__(self, kind: str, name: object, valid: Iterable[str], hint: str = ""):
        self.name, self.valid = name, list(valid)
        names = self.valid
        by_lower = {each.lower(): each for each in names}
        near = [
            by_lower[each]
            for each in difflib.get_close_matches(
                str(name).lower(), by_lower, n=_FEW, cutoff=_LIKENESS
            )
        ]
        message = f"unknown {kind} {name!r}"
        message += f"; did you mean {near[0]!r}?" if near else "."
        if not names:
            message += " There is none."
        elif len(names) <= _SHORT_LIST:
            message += f" Valid: {', '.join(names)}."
        else:
            some = f"Near: {', '.join(near)}." if near else f"Valid: {', '.join(names[:_FEW])}, ..."
            command = _LISTED_BY.get(kind.partition(" of ")[0])
            message += f" {some}" + (f" `{command}` shows all {len(names)}." if command else "")
        super().__init__(message + (f" {hint}" if hint else ""))


class BadValueError(RecallError, ValueError):
    """Value of the right type that cannot be used here."""


def raised_at(error: BaseException) -> str | None:
    """Return "file:line" of the innermost code of the user's in a traceback, or None without any.

    Python, installed packages and this package are not the user's.
    """
    others = (Path(__file__).parent, Path(sysconfig.get_path("stdlib")))
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        packaged = {"site-packages", "dist-packages"} & set(path.parts)
        if path.is_file() and not packaged and not any(map(path.is_relative_to, others)):
            return f"{path}:{frame.lineno}"
    return None


def described(error: BaseException) -> str:
    """Return type and text of an exception, and where in the user's code it was raised."""
    where = f" ({at})" if (at := raised_at(error)) else ""
    return f"{type(error).__name__}: {error}{where}"
