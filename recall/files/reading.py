"""Reading of JSON files that may be damaged, hostile or no JSON at all."""

import json
import math
from pathlib import Path
from typing import Any, NoReturn

from recall.errors import BadValueError

_MOST_DIGITS = 19
_MOST_SHOWN = 30


def read_json(path: Path, way_out: str = "") -> Any:
    """Return the content of a JSON file; raise BadValueError if it cannot be read.

    `way_out` says what to do if it is not valid JSON, such as "restore it from a copy".
    """
    try:
        return parse_json(path.read_bytes())
    except OSError as error:
        raise BadValueError(f"{path} cannot be read ({error.strerror})") from error
    except ValueError as error:
        reason = f"{path} is not valid JSON"
        raise BadValueError(
            f"{reason} ({error}): {way_out}" if way_out else f"{reason}: {error}"
        ) from error


def parse_json(data: bytes | str) -> Any:
    """Parse JSON; raise ValueError for anything that is none, however it is wrong.

    Numbers that are infinite, not a number, or too large for 64 bits are no JSON that we write.
    """
    try:
        return json.loads(data, parse_constant=_refuse, parse_int=_integer, parse_float=_float)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text[:_MOST_SHOWN]} is not a number that can be used")


def _integer(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        _refuse(text)
    return int(text)


def _float(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)
