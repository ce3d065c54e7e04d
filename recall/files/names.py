"""Safe file names: texts are turned into them, and those in files are checked."""

import re
import zlib
from typing import Annotated

import msgspec

_ODD = r"[^\w.,+=-]"
_LONGEST_NAME = 80
_LONGEST_SLUG = 60

_PLAIN = r"(?!\.)[\w.,+=-]{1,200}"
PlainName = Annotated[str, msgspec.Meta(pattern=rf"\A{_PLAIN}\Z")]
"""A name in a file that, joined to a folder, is something in that folder and nothing else."""
PlainPath = Annotated[str, msgspec.Meta(pattern=rf"\A{_PLAIN}(/{_PLAIN})*\Z")]
"""The same for a path of such names."""


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
