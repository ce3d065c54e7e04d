"""Archives of fleets: what is worth keeping, small enough for a repository.

An archive mirrors the folders of its source, and everything that reads results reads it too. It has
no checkpoints, so it cannot be resumed.
"""

import io
import lzma
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from recall.errors import BadValueError, UnknownNameError
from recall.files.atomic import new_folder, write_bytes, write_json, writing_to
from recall.files.fleet_layout import (
    ARCHIVE_NOTE,
    DESCRIPTION,
    FINAL,
    FLEET,
    OUTCOME,
    RECORDS,
    STUDY,
    TRACES,
    Status,
    check_written,
    find_records,
    folders_below,
    policy_path,
    policy_paths,
    read_outcome,
    records_file,
    status,
    training_every,
)
from recall.files.paths import given_path
from recall.files.reading import SCHEMA, XZ, complete_lines, read_json, read_lines
from recall.policies.file_format import pack_compactly
from recall.policies.policy import read_stored
from recall.runs.description import Description, check_unedited, read_description
from recall.runs.fleet_folder import FolderInUseError, resume_command
from recall.settings.checked import from_plain, given_texts
from recall.version import version

Folder = str | Path
PoliciesAt = Literal["both", "final", "learned"]
_PRESET = 6 | lzma.PRESET_EXTREME


@dataclass(frozen=True)
class Archive:
    """A finished archive."""

    folder: Path
    fleets: int
    runs: int
    policies: int
    """Number of policy files."""
    size_bytes: int


def archive(
    source: Folder,
    out: Folder,
    policies: Sequence[str] | str = (),
    policies_at: PoliciesAt = "both",
    unfinished: bool = False,
) -> Archive:
    """Copy what is worth keeping of a fleet, or of all fleets below a folder, into `out`.

    Records are compressed, studies copied; checkpoints, replay, TensorBoard events, logs and films
    are left out. Damaged fleets are refused: nothing is written then.

    Args:
        source: Folder of a fleet, or of several.
        out: Folder of the archive, which must not hold anything.
        policies: The runs whose policies are kept, in float16, by name or shell pattern (`"*"`).
        policies_at: Which of their policies: "final", "learned" or "both".
        unfinished: Whether unfinished fleets are archived too.
    """
    source, out = given_path(source, "source"), given_path(out, "out")
    patterns = given_texts(policies, "policies")
    policies_at = from_plain(PoliciesAt, policies_at, "time")
    one, other = source.resolve(), out.resolve()
    if one.is_relative_to(other) or other.is_relative_to(one):
        raise BadValueError(f"{out} and {source} lie in one another: choose another folder")
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise FolderInUseError(f"{out} already exists: remove it, or choose another folder")
    fleets = {fleet: _checked(fleet, unfinished) for fleet in _fleets_below(source)}
    runs = [run["name"] for description in fleets.values() for run in description["runs"]]
    for pattern in patterns:
        if not any(fnmatchcase(run, pattern) for run in runs):
            raise UnknownNameError("run", pattern, runs)
    chosen = {
        fleet: _chosen(fleet, description, patterns, policies_at)
        for fleet, description in fleets.items()
    }
    if patterns and not any(chosen.values()):
        raise BadValueError(f"there are no such policies of runs {', '.join(patterns)} to keep")
    with writing_to(out), new_folder(out) as new:
        for fleet, description in fleets.items():
            _write_fleet(fleet, new / fleet.relative_to(source), description, chosen[fleet])
        above = {each for fleet in fleets for each in (fleet, *fleet.parents)}
        for path in (each / STUDY for each in above if each.is_relative_to(source)):
            if path.exists():
                write_json(new / path.relative_to(source), read_json(path))
    return Archive(
        out,
        len(fleets),
        len(runs),
        sum(map(len, chosen.values())),
        sum(path.stat().st_size for path in out.rglob("*") if path.is_file()),
    )


def _fleets_below(source: Path) -> list[Path]:
    def unreadable(error: OSError) -> None:
        raise BadValueError(f"{error.filename} cannot be read ({error.strerror})")

    found = list(folders_below(source, unreadable))
    if traces := [folder for folder, kind in found if kind == TRACES]:
        raise BadValueError(f"{traces[0]} has no {DESCRIPTION}, only other files of a fleet")
    fleets = [folder for folder, kind in found if kind == FLEET]
    if not fleets:
        raise BadValueError(f"{source} holds no fleets: there is no {DESCRIPTION} below it")
    return fleets


def _checked(folder: Path, unfinished: bool) -> Description:
    """Return the run.json of a fleet; raise an error if it is damaged, edited or unfinished."""
    description = read_description(folder)
    check_unedited(folder, description)
    check_written(folder)
    found = status(folder)
    if not (found.is_over or unfinished):
        raise BadValueError(
            f"{folder} is unfinished: finish it with `{resume_command(folder)}`, or give "
            "--unfinished to keep what there is"
        )
    path = find_records(folder, "evaluations")
    if found is Status.FINISHED and not path.exists():
        raise BadValueError(f"{path} is missing: restore it from a copy")
    return description


def _chosen(
    folder: Path, description: Description, patterns: Sequence[str], at: PoliciesAt
) -> list[Path]:
    """Return the policy files of a fleet that are kept; raise an error if one is lost."""
    names = [run["name"] for run in description["runs"]]
    chosen = [name for name in names if any(fnmatchcase(name, each) for each in patterns)]
    outcome = read_outcome(folder)
    written = {folder / name for name in outcome.stamps} if outcome else set()
    found = sorted(
        path
        for path in written.union(*(policy_paths(folder, name) for name in chosen))
        if path.parent.name in chosen
        and path == policy_path(folder, path.parent.name, path.stem)
        and at in ("both", "final" if path.stem == FINAL else "learned")
    )
    check_written(folder, found)
    return found


def _write_fleet(
    source: Path, folder: Path, description: Description, policies: Sequence[Path]
) -> None:
    """Write the archive of the fleet in `source` into a new folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / DESCRIPTION, _portable(description))
    outcome, stamps = read_outcome(source), {}
    for name in RECORDS:
        path, target = find_records(source, name), f"{records_file(name)}{XZ}"
        if path.exists():
            try:
                lines = complete_lines(path) if outcome is None else read_lines(path)
                encoder = lzma.LZMACompressor(preset=_PRESET)
                content = b"".join([*map(encoder.compress, lines), encoder.flush()])
            except OSError as error:
                raise BadValueError(f"{path} cannot be read ({error.strerror})") from error
            stamps[target] = write_bytes(folder / target, content)
            try:  # whether readers accept it, though lines that repeat themselves shrink so much
                deque(read_lines(folder / target), maxlen=0)
            except OSError as error:
                reason = f"its archive could not be read again ({error.strerror})"
                raise BadValueError(f"{path}: {reason}: restore it from a copy") from error
    tasks = {run["name"]: run["tasks"] for run in description["runs"]}
    for path in policies:
        file = io.BytesIO()
        stored = read_stored(source, path.parent.name, path.stem, tasks=tasks[path.parent.name])
        arrays: dict[str, Any] = pack_compactly(*stored)
        np.savez_compressed(file, **arrays)
        target = path.relative_to(source).as_posix()
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        stamps[target] = write_bytes(folder / target, file.getvalue())
    if outcome is not None:
        ended = msgspec.structs.replace(outcome, stamps=stamps)
        write_json(folder / OUTCOME, msgspec.to_builtins(ended))
    kept = list(dict.fromkeys(path.parent.name for path in policies))
    note = {
        "schema": SCHEMA,
        "recall_version": version(),
        "training_every": training_every(source),
        "policies": kept,
    }
    write_json(folder / ARCHIVE_NOTE, note)


def _portable(description: Description) -> Description:
    """Return the content of run.json without names of machines and folders; its digest stays."""
    changed = {name: value for name, value in description.items() if name != "command"}
    if "machine" in changed:
        changed["machine"] = {k: v for k, v in changed["machine"].items() if k != "host"}
    if "plugins" in changed:
        changed["plugins"] = [Path(name).name for name in changed["plugins"]]
    return changed
