"""Digests of the source code of plug-ins, by which a changed plug-in is noticed."""

import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path

Sources = Mapping[str, Mapping[str, str]]  # by plug-in, facts such as its `source`, a digest
_DIGITS = 12
_digests: dict[str, str] = {}


def remember(module: str, anew: bool = False) -> None:
    """Take the digest of a plug-in's files once, when it is imported: later edits are not loaded.

    A module in a package stands for the whole package, whose other modules it may use. `anew` is
    for code that has just been run again.
    """
    name = module.partition(".")[0]
    path = Path(getattr(sys.modules.get(name), "__file__", None) or "")
    if not path.is_file() or name in ("recall", "__main__") or (name in _digests and not anew):
        return
    digest = hashlib.sha256()
    if path.name == "__init__.py":
        for each in sorted(path.parent.rglob("*.py")):
            digest.update(f"{each.relative_to(path.parent).as_posix()}\0".encode())
            digest.update(each.read_bytes())
    else:
        digest.update(path.read_bytes())
    _digests[name] = digest.hexdigest()[:_DIGITS]


def sources() -> dict[str, dict[str, str]]:
    """Return the digest of every plug-in of this process."""
    return {name: {"source": digest} for name, digest in _digests.items()}
