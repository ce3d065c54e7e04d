"""What the user sees when a value cannot be used: the value, the reason, the way out."""

import difflib
from collections.abc import Iterable


class RecallError(Exception):
    """Something a user can mend; the command line prints it without a traceback."""


class UnknownNameError(RecallError, ValueError):
    """A name that stands for nothing, with the valid names and the nearest of them."""

    def __init__(self, kind: str, name: object, valid: Iterable[str], hint: str = ""):
        names = list(valid)
        nearest = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
        message = f"unknown {kind} {name!r}"
        message += f"; did you mean {nearest[0]!r}?" if nearest else "."
        message += f" Valid: {', '.join(names)}."
        super().__init__(message + (f" {hint}" if hint else ""))


class BadValueError(RecallError, ValueError):
    """A value of the right kind that cannot be used here."""
