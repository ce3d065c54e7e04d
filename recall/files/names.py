"""Safe file names: texts are turned into them, and names that come from files are checked."""

import re
import zlib
from pathlib import Path

from recall.errors import BadValueError

_ODD = r"[^\w.,+=-]"
_LONGEST_NAME = 80
_LONGEST_SLUG = 60
_LONGEST_READ = 200


def file_name(text: str) -> str:
    """Return `text` as a file name: odd characters replaced, long names cut but kept distinct."""
    return _cut(re.sub(_ODD, "-", text), text, _LONGEST_NAME)


def stem(text: str) -> str:
    """Return `text` as a file name whose words, also those between commas, are joined by dashes."""
    return _cut(re.sub(r"[^\w.+=-]+", "-", text).strip("-"), text, _LONGEST_NAME)


def slug(text: str) -> str:
    """Return `text` as part of a file name, in lower-case letters, digits and dashes alone."""
    return _cut(re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-"), text, _LONGEST_SLUG)


def _cut(name: str, text: str, longest: int) -> str:
    """Return `name`, or the beginning of a long one with a checksum of the `text` it is made of."""
    if len(name) <= longest:
        return name
    return f"{name[: longest - 9]}-{zlib.crc32(text.encode()):08x}"


def checked_name(name: object, where: Path | str) -> str:
    """Return a name that was read from the file `where`, or raise an error if it is not safe.

    A safe name joined to a folder is a file or folder in that folder and nothing else.
    """
    safe = (
        isinstance(name, str)
        and 0 < len(name) <= _LONGEST_READ
        and not re.search(_ODD, name)
        and not name.startswith(".")
    )
    if not safe:
        raise BadValueError(
            f"{where} has the name {str(name)[:_LONGEST_NAME]!r}, which is not a plain file name: "
            "the file was damaged or edited"
        )
    return str(name)


def checked_path(name: object, where: Path | str) -> str:
    """Return a relative path that was read from `where`, or raise if it could leave its folder."""
    parts = name.split("/") if isinstance(name, str) else []
    if not parts or any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise BadValueError(
            f"{where} has the path {str(name)[:_LONGEST_NAME]!r}, which may lead out of its "
            "folder: the file was damaged or edited"
        )
    return str(name)
