"""Keep a list of the files that a report wrote, so that the next report can remove them."""

import json
from collections.abc import Iterable
from pathlib import Path

from recall.errors import BadValueError
from recall.files.reading import read_json

FILE = "files.json"


def remove_earlier(folder: Path) -> None:
    """Remove the files that an earlier report wrote into `folder`, and no others."""
    for name in _listed(folder / FILE):
        path = folder / name
        # A manifest that was edited must not lead to files outside the folder.
        if folder.resolve() in path.resolve().parents and path.is_file():
            path.unlink()
            _remove_if_empty(path.parent, folder)


def _listed(manifest: Path) -> list[str]:
    try:
        names = read_json(manifest)
    except BadValueError:  # no earlier report, or an unreadable manifest
        return []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _remove_if_empty(inner: Path, folder: Path) -> None:
    if inner != folder and not any(inner.iterdir()):
        inner.rmdir()


def write_manifest(folder: Path, files: Iterable[Path]) -> None:
    """Write the list of a report's files, as paths relative to `folder`."""
    names = sorted(path.relative_to(folder).as_posix() for path in files)
    (folder / FILE).write_text(json.dumps(names, indent=1) + "\n", "utf-8")
