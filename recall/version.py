"""The package's version, which a source tree that was never installed has too."""

import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

DISTRIBUTION = "recall-rl"
UNKNOWN = "unknown"


@cache
def version() -> str:
    """Return the installed version, that of the source tree with "+source", or "unknown".

    It never fails: a training that ends by noting its version must not lose its policies to that.
    """
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return _of_source_tree(Path(__file__).parents[1] / "pyproject.toml")


def _of_source_tree(path: Path) -> str:
    try:
        project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        return f"{project['version']}+source" if project["name"] == DISTRIBUTION else UNKNOWN
    except (OSError, ValueError, KeyError):
        return UNKNOWN
