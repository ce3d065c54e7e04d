"""Files and folders that a caller gives as arguments, one or several."""

import os
from collections.abc import Iterable
from pathlib import Path

from recall.errors import BadValueError


def given_path(value: object, name: str, what: str = "folder") -> Path:
    """Return the path that the argument `name` gives, or refuse it; `what` is expected there."""
    if not isinstance(value, str | os.PathLike) or "\0" in str(value):
        raise BadValueError(f"{name} is {value!r}: expected a {what}, as a text or a Path")
    return Path(value)


def given_paths(value: object, name: str) -> list[Path]:
    """Return the paths of folders that the argument `name` gives, whether one or several."""
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | os.PathLike):
        return [given_path(each, name) for each in value]
    return [given_path(value, name)]
