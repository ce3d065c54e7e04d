"""Reading of JSON files that may be damaged, hostile or no JSON at all."""

import json
from pathlib import Path
from typing import Any

from recall.errors import BadValueError


def read_json(path: Path) -> Any:
    """Return the content of a JSON file; raise BadValueError if it cannot be read."""
    try:
        return parse_json(path.read_bytes())
    except OSError as error:
        raise BadValueError(f"{path} cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise BadValueError(f"{path} is not valid JSON: {error}") from error


def parse_json(data: bytes | str) -> Any:
    """Parse JSON; raise ValueError for anything that is none, however it is wrong."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
