"""Keep a list of the files that a report wrote, so that the next report can replace them."""

import contextlib
import json
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from recall.errors import BadValueError
from recall.files.atomic import remove_leftovers, write_text
from recall.files.reading import read_json

FILE = "files.json"
PAGE = "index.html"
_FOLDERS = ("tables", "figures", "data")
_NEW = ".new-"  # how the name of a folder begins in which a report is being written


def check_place(folder: Path) -> None:
    """Raise an error if a folder holds anything but an earlier report, or the start of one."""
    if not folder.is_dir() or _listed(folder / FILE):
        return
    for path in sorted(folder.iterdir()):
        if path.name not in _FOLDERS and not path.name.startswith(_NEW):
            raise BadValueError(
                f"{folder} is not empty, and {path.name} in it is not an earlier report's: choose "
                "another folder"
            )


@contextlib.contextmanager
def replacing_earlier(folder: Path) -> Iterator[Path]:
    """Let the caller write a report into a new folder, whose files then move into `folder`.

    They replace those that an earlier report wrote there, and no others. If the caller fails or is
    interrupted, the earlier report stays as it is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    remove_leftovers(folder.glob(f"{_NEW}*"))  # of reports that were killed
    # In `folder` and not beside it, which may be another disk, or not writable.
    with tempfile.TemporaryDirectory(prefix=_NEW, dir=folder, ignore_cleanup_errors=True) as name:
        yield Path(name)
        _replace(folder, Path(name))


def _replace(folder: Path, new: Path) -> None:
    earlier = _listed(folder / FILE)
    names = {path.relative_to(new).as_posix() for path in new.rglob("*") if path.is_file()}
    # With both in the list, the next report finds all files even if this one ends halfway.
    _write_list(folder, names.union(earlier))
    for path in (folder / name for name in set(earlier) - names):
        # A list that was edited must not lead to files outside the folder.
        if folder.resolve() in path.resolve().parents and path.is_file():
            path.unlink()
            if path.parent != folder and not any(path.parent.iterdir()):
                path.parent.rmdir()
    for name in sorted(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (new / name).replace(folder / name)
    _write_list(folder, names)


def _listed(manifest: Path) -> list[str]:
    try:
        names = read_json(manifest)
    except BadValueError:  # no earlier report, or an unreadable manifest
        return []
    listed = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    return listed if PAGE in listed else []  # a list without the page is another program's


def _write_list(folder: Path, names: Iterable[str]) -> None:
    write_text(folder / FILE, json.dumps(sorted(names), indent=1) + "\n")
