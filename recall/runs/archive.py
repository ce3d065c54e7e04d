"""Archives of fleets: what is worth keeping, small enough for a repository.

An archive mirrors the folders of its source. Everything that reads results reads it too: reports,
comparisons, films, policies, evaluations. It has no checkpoints, so it cannot be resumed.
"""

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import get_args

from recall.errors import BadValueError, UnknownNameError
from recall.files.atomic import write_bytes, writing_to
from recall.files.compressed import SUFFIX
from recall.files.fleet_layout import (
    ARCHIVE_NOTE,
    DESCRIPTION,
    LOCK,
    OUTCOME,
    POLICIES,
    POLICY_SUFFIX,
    RECORDS,
    STUDY,
    is_archive,
    records_file,
)
from recall.files.given import given_path
from recall.files.leftovers import hidden_beside, left_beside, remove_leftovers
from recall.files.reading import read_json
from recall.runs.archived_fleet import (
    Choice,
    PoliciesAt,
    fault_of,
    write_fleet,
)
from recall.runs.benches import read_bench
from recall.runs.description import read_description
from recall.runs.find import EMPTY, FLEET, LOG, folders_below
from recall.runs.fleet_folder import FolderInUseError
from recall.settings.checked import Count, from_plain, given_texts

Folder = str | Path
_MOST_NAMED = 3
_AT = {"both": "policies", "final": "final policies", "learnt": "policies of tasks just learnt"}
_BENCHES = "bench*.json"  # what studies estimate times from; reports read other names too
_OF_FLEETS = {
    DESCRIPTION,
    OUTCOME,
    ARCHIVE_NOTE,
    LOCK,
    *(f"{records_file(name)}{SUFFIX}" for name in RECORDS),
}


@dataclass(frozen=True)
class Archive:
    """A finished archive."""

    folder: Path
    fleets: int
    runs: int
    policies: int
    """Number of policy files."""
    size_bytes: int
    left_out: tuple[str, ...] = ()
    """Sentences on folders that were not archived."""


def archive(
    source: Folder,
    out: Folder,
    policies: Sequence[str] | str = (),
    policies_at: PoliciesAt = "both",
    training_every: int | None = None,
    unfinished: bool = False,
    replace: bool = False,
) -> Archive:
    """Copy what is worth keeping of a fleet, or of all fleets below a folder, into `out`.

    Records are compressed, studies and benchmarks copied; checkpoints, replay, compiled programs,
    TensorBoard events, logs and films are left out. `policies` names the runs whose policies are
    kept, in float16, by name or shell pattern (`"*"`: all), and `policies_at` which of them:
    `final`, `learnt` or `both`. `training_every` thins the training records: of those of each run,
    the last in so many steps is kept. It is recorded, so that reports say so.

    Fleets that are damaged are refused, and so are unfinished ones unless `unfinished` is True:
    nothing is written then. An existing folder is refused unless `replace` is True and it holds an
    earlier archive and nothing else; it is replaced once the new archive is complete.
    """
    source, out = given_path(source, "source"), given_path(out, "out")
    patterns = given_texts(policies, "policies")
    training_every = from_plain(Count | None, training_every, "training_every")
    choice = Choice(patterns, policies_at, training_every, unfinished)
    _check_choice(choice)
    fleets, left_out = _fleets(source)
    faults = [fault for fleet in fleets if (fault := fault_of(fleet, choice)) is not None]
    if faults:
        more = len(faults) - _MOST_NAMED
        words = "; ".join(faults[:_MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")
        raise BadValueError(f"nothing was archived: {words}")
    _check_patterns(source, fleets, choice)
    _check_place(source, out, replace)
    with writing_to(out), _replacing(out) as new:
        for fleet in fleets:
            write_fleet(fleet, new / fleet.relative_to(source), choice)
        for path in _files_beside(source, fleets):
            write_bytes(new / path.relative_to(source), path.read_bytes())
    return _summary(source, out, fleets, choice, left_out)


def _check_choice(choice: Choice) -> None:
    if choice.policies_at not in get_args(PoliciesAt):
        raise UnknownNameError("time", choice.policies_at, get_args(PoliciesAt))


def _fleets(source: Path) -> tuple[list[Path], list[str]]:
    """Return the folders of all fleets, and sentences on logs of other code."""
    if not source.is_dir():
        raise BadValueError(f"{source} is no folder: name a fleet, a study or a folder of fleets")

    def unreadable(error: OSError) -> None:
        raise BadValueError(f"{error.filename} cannot be read ({error.strerror})")

    fleets, left_out = [], []
    for folder, kind in folders_below(source, unreadable):
        if kind == FLEET:
            fleets.append(folder)
        elif kind == LOG:
            left_out.append(f"{folder} holds a log of other code, which is not archived.")
        elif kind != EMPTY:
            raise BadValueError(
                f"nothing was archived: {folder} has no {DESCRIPTION}, only other files of a fleet"
            )
    if not fleets:
        raise BadValueError(f"{source} holds no fleets: there is no {DESCRIPTION} below it")
    return fleets, left_out


def _check_patterns(source: Path, fleets: Sequence[Path], choice: Choice) -> None:
    for pattern in choice.policies:
        only = Choice((pattern,), choice.policies_at)
        if not any(only.policy_files(fleet) for fleet in fleets):
            names = [run["name"] for fleet in fleets for run in read_description(fleet)["runs"]]
            if not any(fnmatchcase(name, pattern) for name in names):
                raise UnknownNameError("run", pattern, names)
            raise BadValueError(f"{source} has no {_AT[choice.policies_at]} of runs {pattern!r}")


def _check_place(source: Path, out: Path, replace: bool) -> None:
    one, other = source.resolve(), out.resolve()
    if one.is_relative_to(other) or other.is_relative_to(one):
        raise BadValueError(f"{out} and {source} lie in one another: choose another folder")
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not out.is_dir():
        raise FolderInUseError(f"{out} is a file: choose another folder")
    if not any(map(is_archive, (path.parent for path in out.rglob(ARCHIVE_NOTE)))):
        raise FolderInUseError(f"{out} is not empty, and holds no archive: choose another folder")
    stranger = next(_strangers(out), None)
    if stranger is not None:
        raise FolderInUseError(
            f"{out} is not empty, and {stranger} is no part of an archive: choose another folder, "
            "or move it away"
        )
    if not replace:
        raise FolderInUseError(
            f"{out} already holds an archive: choose another folder, or give --replace to replace "
            "it as a whole"
        )


def _strangers(out: Path) -> Iterator[Path]:
    """Yield the files in a folder that no archive has."""
    for path in sorted(out.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            continue
        folder = path.parent
        if path.suffix == POLICY_SUFFIX and folder.parent.name == POLICIES:
            ours = is_archive(folder.parent.parent)
        elif path.name in _OF_FLEETS:
            ours = is_archive(folder)
        else:
            ours = _is_kept_beside(path)
        if path.is_symlink() or not ours:
            yield path


@contextlib.contextmanager
def _replacing(out: Path) -> Iterator[Path]:
    """Let the caller fill a new folder, which then takes the place of `out`, or is removed."""
    place = out.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(left_beside(place, "new"))
    new, old = hidden_beside(place)
    new.mkdir()
    try:
        yield new
        if place.exists():
            place.rename(old)
        new.rename(place)
    except BaseException:
        if old.exists() and not place.exists():
            old.rename(place)
        shutil.rmtree(new, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)
    remove_leftovers(left_beside(place, "old"))  # not before: one may be all that there was


def _files_beside(source: Path, fleets: Sequence[Path]) -> list[Path]:
    """Return the studies and benchmarks in the folders of fleets and above, up to the source."""
    folders = {source}
    for fleet in fleets:
        folders |= {each for each in (fleet, *fleet.parents) if each.is_relative_to(source)}
    found = []
    for folder in sorted(folders):
        for path in sorted(folder.glob("*.json")):
            if path.name not in _OF_FLEETS and _is_kept_beside(path):
                read_json(path, "restore it from a copy, or move it away")  # raises an error
                found.append(path)
    return found


def _is_kept_beside(path: Path) -> bool:
    """Return True for the files of a study and for benchmarks."""
    named = path.name == STUDY or fnmatchcase(path.name, _BENCHES)
    return named or read_bench(path) is not None


def _summary(
    source: Path, out: Path, fleets: Sequence[Path], choice: Choice, left_out: Sequence[str]
) -> Archive:
    return Archive(
        out,
        len(fleets),
        sum(len(read_description(fleet)["runs"]) for fleet in fleets),
        sum(len(choice.policy_files(fleet)) for fleet in fleets),
        sum(path.stat().st_size for path in out.rglob("*") if path.is_file()),
        tuple(left_out),
    )
