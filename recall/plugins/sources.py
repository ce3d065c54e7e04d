"""Digests and versions of the source code of plug-ins, by which a changed plug-in is noticed."""

import hashlib
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

Sources = Mapping[str, Mapping[str, str]]  # facts on each plug-in: `source`, and maybe `version`
_DIGITS = 12
_OURS = ("recall", "__main__")
_digests: dict[str, str] = {}
_versions: dict[str, str] = {}


def remember(module: str, version: str | None = None, anew: bool = False) -> None:
    """Take the digest of a plug-in's files once, when it is imported: later edits are not loaded.

    A module in a package stands for the whole package, whose other modules it may use. `version` is
    that of its distribution, if known. `anew` is for code that has just been run again.
    """
    name = _outermost(module)
    if name is None or name in _OURS:
        return
    if version is not None:
        _versions[name] = version
    if anew or name not in _digests:
        digest = _digest(Path(str(sys.modules[name].__file__)))
        if digest is not None:
            _digests[name] = digest


def _outermost(module: str) -> str | None:
    """Return the outermost package of a module, or the module; None if neither has a file."""
    parts = module.split(".")
    for count in range(1, len(parts) + 1):
        name = ".".join(parts[:count])
        if getattr(sys.modules.get(name), "__file__", None) is not None:
            return name
    return None


def _digest(file: Path) -> str | None:
    """Return the digest of a file, or of all Python files of a package; None if unreadable."""
    digest = hashlib.sha256()
    try:
        if file.name != "__init__.py":
            digest.update(_content(file))
        else:
            for path in sorted(file.parent.rglob("*.py")):
                digest.update(f"{path.relative_to(file.parent).as_posix()}\0".encode())
                digest.update(_content(path))
    except OSError:
        return None
    return digest.hexdigest()[:_DIGITS]


def _content(path: Path) -> bytes:
    return path.read_bytes().replace(b"\r\n", b"\n")  # as a file arrives that is sent as text


def sources() -> dict[str, dict[str, str]]:
    """Return the digest of every plug-in of this process, and its version if it is installed."""
    if not _digests:
        return {}
    installed = metadata.packages_distributions()
    found = {}
    for name, digest in _digests.items():
        found[name] = {"source": digest}
        if version := _versions.get(name) or _version(installed.get(name, ())):
            found[name]["version"] = version
    return found


def _version(distributions: Sequence[str]) -> str | None:
    return metadata.version(distributions[0]) if distributions else None


def differing(before: Sources, now: Sources) -> list[str]:
    """Return the plug-ins that both have, but with another source or version, where known."""
    return [name for name in before if name in now and _unlike(before[name], now[name])]


def _unlike(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    return any(one[fact] != other[fact] for fact in one if fact in other)


def facts_in_words(facts: Mapping[str, str]) -> str:
    """Return what is recorded of a plug-in as text: its version and its digest."""
    return " ".join([*filter(None, [facts.get("version")]), f"source {facts.get('source')}"])
