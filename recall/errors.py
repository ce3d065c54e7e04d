"""Exceptions for values that cannot be used. Messages give the value, the reason and a fix."""

import difflib
from collections.abc import Iterable


class RecallError(Exception):
    """Base class of errors that a user can fix; the command line prints no traceback for them."""


class UnknownNameError(RecallError, ValueError):
    """Unknown name. The message lists the valid names and suggests the nearest one."""

    def __init__(self, kind: str, name: object, valid: Iterable[str], hint: str = ""):
        names = list(valid)
        nearest = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
        message = f"unknown {kind} {name!r}"
        message += f"; did you mean {nearest[0]!r}?" if nearest else "."
        message += f" Valid: {', '.join(names)}."
        super().__init__(message + (f" {hint}" if hint else ""))


class BadValueError(RecallError, ValueError):
    """Value of the right type that cannot be used here."""
