"""The package's version."""

from importlib import metadata


def version() -> str:
    """Return the installed version, or "unknown" for a source tree that was never installed."""
    try:
        return metadata.version("recall-rl")
    except metadata.PackageNotFoundError:
        return "unknown"
