"""Keep a list of the files that a report wrote, so that the next report can remove them."""

import json
from collections.abc import Iterable
from pathlib import Path

from recall.errors import BadValueError
from recall.files.atomic import write_text
from recall.files.reading import read_json

FILE = "files.json"
PAGE = "index.html"
_FOLDERS = ("tables", "figures", "data")


def check_place(folder: Path) -> None:
    """Raise an error if a folder holds anything but an earlier report, or the start of one."""
    if not folder.is_dir() or _listed(folder / FILE):
        return
    for path in sorted(folder.iterdir()):
        if path.name not in _FOLDERS:
            raise BadValueError(
                f"{folder} is not empty, and {path.name} in it is not an earlier report's: choose "
                "another folder"
            )


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
    listed = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    return listed if PAGE in listed else []  # a list without the page is another program's


def _remove_if_empty(inner: Path, folder: Path) -> None:
    if inner != folder and not any(inner.iterdir()):
        inner.rmdir()


def write_manifest(folder: Path, files: Iterable[Path]) -> None:
    """Write the list of a report's files, as paths relative to `folder`."""
    names = sorted(path.relative_to(folder).as_posix() for path in files)
    write_text(folder / FILE, json.dumps(names, indent=1) + "\n")
