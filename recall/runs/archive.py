"""Archives of fleets: what is worth keeping, small enough for a repository.

An archive mirrors the folders of its source. Everything that reads results reads it too: reports,
comparisons, films, policies, evaluations. It has no checkpoints, so it cannot be resumed.

    run.json                without the machine's name, and folders and addresses in its command
    outcome.json            with stamps of the archive's files
    evaluations.jsonl.xz    compressed
    training.jsonl.xz       compressed, and thinned if asked for
    policies/RUN/*.npz      of chosen runs, in float16
    archive.json            what was left out
"""

import io
import lzma
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
import numpy as np

from recall.errors import BadValueError, UnknownNameError
from recall.files.atomic import replacing, replacing_folder, write_bytes, write_json, writing_to
from recall.files.fleet_layout import (
    ARCHIVE_NOTE,
    DESCRIPTION,
    FINAL,
    LOCK,
    OUTCOME,
    POLICIES,
    POLICY_SUFFIX,
    RECORDS,
    STUDY,
    ArchiveNote,
    Outcome,
    Status,
    check_written,
    is_archive,
    learned,
    policy_paths,
    read_note,
    read_outcome,
    records_file,
    status,
)
from recall.files.paths import given_path
from recall.files.reading import XZ, most_expanded, read_bytes, read_json
from recall.files.stamps import Stamp
from recall.policies.file_format import pack_compactly, read_policy_file
from recall.runs.benches import read_bench
from recall.runs.description import Description, is_edited, read_description
from recall.runs.evaluations import read_curves, recorded_modes
from recall.runs.find import EMPTY, FLEET, LOG, folders_below
from recall.runs.fleet_folder import FolderInUseError, resume_command
from recall.runs.json_lines import Line, checked_lines, find_records
from recall.settings.checked import Count, from_plain, given_texts
from recall.version import version

Folder = str | Path
PoliciesAt = Literal["both", "final", "learned"]
_LABELS = {"both": "*", "final": FINAL, "learned": learned("*")}
_BENCHES = "bench*.json"  # what studies estimate times from; reports read other names too
_OF_FLEETS = {
    DESCRIPTION,
    OUTCOME,
    ARCHIVE_NOTE,
    LOCK,
    *(f"{records_file(name)}{XZ}" for name in RECORDS),
}
# Keys of training records that are few and always kept.
_RARE = {"head_returns", "health", "dormant_pi"}
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
    `final`, `learned` or `both`. `training_every` thins the training records: of those of each run,
    the last in so many steps is kept. It is recorded, so that reports say so.

    Fleets that are damaged are refused, and so are unfinished ones unless `unfinished` is True:
    nothing is written then. An existing folder is refused unless `replace` is True and it holds an
    earlier archive and nothing else; it is replaced once the new archive is complete.
    """
    source, out = given_path(source, "source"), given_path(out, "out")
    patterns = given_texts(policies, "policies")
    every = from_plain(Count | None, training_every, "training_every")
    if policies_at not in _LABELS:
        raise UnknownNameError("time", policies_at, get_args(PoliciesAt))
    fleets, left_out = _fleets(source)
    for fleet in fleets:
        _check_fleet(fleet, unfinished)
    runs = {fleet: [run["name"] for run in read_description(fleet)["runs"]] for fleet in fleets}
    chosen = {fleet: _chosen(fleet, runs[fleet], patterns, policies_at) for fleet in fleets}
    _check_patterns(patterns, runs, chosen)
    _check_place(source, out, replace)
    with writing_to(out), replacing_folder(out) as new:
        for fleet in fleets:
            _write_fleet(fleet, new / fleet.relative_to(source), chosen[fleet], every)
        for path in _files_beside(source, fleets):
            write_bytes(new / path.relative_to(source), read_bytes(path))
    return Archive(
        out,
        len(fleets),
        sum(map(len, runs.values())),
        sum(map(len, chosen.values())),
        sum(path.stat().st_size for path in out.rglob("*") if path.is_file()),
        tuple(left_out),
    )


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
            raise BadValueError(f"{folder} has no {DESCRIPTION}, only other files of a fleet")
    if not fleets:
        raise BadValueError(f"{source} holds no fleets: there is no {DESCRIPTION} below it")
    return fleets, left_out


def _check_fleet(folder: Path, unfinished: bool) -> None:
    """Raise an error for a fleet that is damaged, edited, unfinished or lost evaluations."""
    description = read_description(folder)
    if is_edited(description):
        raise BadValueError(f"{folder / DESCRIPTION} was edited after the fleet was started")
    check_written(folder)
    found, path, runs = status(folder), find_records(folder, "evaluations"), description["runs"]
    if not found.is_over and not unfinished:
        raise BadValueError(
            f"{folder} is unfinished: finish it with `{resume_command(folder)}`, or give "
            "--unfinished to keep what there is"
        )
    if found is Status.FAILED and not path.exists():
        return
    try:
        curves, unread = read_curves(path, len(runs), len(runs[0]["tasks"]))
    except OSError as error:
        raise BadValueError(f"{path} cannot be read ({error.strerror})") from error
    if unread:
        raise BadValueError(f"{path} has {unread} lines that cannot be used")
    outcome = read_outcome(folder)
    if outcome is None or unfinished:
        return
    steps = len(runs[0]["tasks"]) * description["settings"]["schedule"]["steps_per_task"]
    for run, each in zip(runs, curves, strict=True):
        lost = each.lacks_at_end(recorded_modes(curves), run["tasks"], steps)
        if lost and run["name"] not in outcome.failed:
            raise BadValueError(
                f"{run['name']} in {folder} is finished, but {lost}: restore {path.name} from a "
                "copy, or give --unfinished to keep what there is"
            )


def _chosen(folder: Path, runs: Sequence[str], patterns: Sequence[str], at: str) -> list[Path]:
    """Return the policy files of a fleet that are kept."""
    return [
        path
        for run in runs
        if any(fnmatchcase(run, pattern) for pattern in patterns)
        for path in policy_paths(folder, run, _LABELS[at])
    ]


def _check_patterns(
    patterns: Sequence[str], runs: dict[Path, list[str]], chosen: dict[Path, list[Path]]
) -> None:
    """Raise an error for a pattern that names no run, or none that has the wanted policies."""
    names = [name for each in runs.values() for name in each]
    kept = {path.parent.name for paths in chosen.values() for path in paths}
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UnknownNameError("run", pattern, names)
        if not any(fnmatchcase(name, pattern) for name in kept):
            raise BadValueError(f"there are no such policies of runs {pattern!r} to keep")


def _check_place(source: Path, out: Path, replace: bool) -> None:
    one, other = source.resolve(), out.resolve()
    if one.is_relative_to(other) or other.is_relative_to(one):
        raise BadValueError(f"{out} and {source} lie in one another: choose another folder")
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not out.is_dir() or not any(out.rglob(ARCHIVE_NOTE)):
        raise FolderInUseError(f"{out} exists and holds no archive: choose another folder")
    strangers = (path for path in sorted(out.rglob("*")) if not _is_of_archive(path))
    if (stranger := next(strangers, None)) is not None:
        raise FolderInUseError(
            f"{stranger} is no part of an archive: move it away, or choose another folder"
        )
    if not replace:
        raise FolderInUseError(
            f"{out} already holds an archive: choose another folder, or give --replace to replace "
            "it as a whole"
        )


def _is_of_archive(path: Path) -> bool:
    """Return True for folders, and for the files that an archive writes."""
    if path.is_symlink():
        return False
    if path.is_dir():
        return True
    if path.suffix == POLICY_SUFFIX:
        return path.parents[1].name == POLICIES and is_archive(path.parents[2])
    return is_archive(path.parent) if path.name in _OF_FLEETS else _is_kept_beside(path)


def _is_kept_beside(path: Path) -> bool:
    """Return True for the files of a study and for benchmarks."""
    named = path.name == STUDY or fnmatchcase(path.name, _BENCHES)
    return named or read_bench(path) is not None


def _files_beside(source: Path, fleets: Sequence[Path]) -> list[Path]:
    """Return the studies and benchmarks in the folders of fleets and above, up to the source."""
    folders = {source}
    for fleet in fleets:
        folders |= {each for each in (fleet, *fleet.parents) if each.is_relative_to(source)}
    found = []
    for path in sorted(path for folder in folders for path in folder.glob("*.json")):
        if path.name not in _OF_FLEETS and _is_kept_beside(path):
            read_json(path)  # raises an error if it is damaged
            found.append(path)
    return found


def _write_fleet(source: Path, folder: Path, policies: Sequence[Path], every: int | None) -> None:
    """Write the archive of the fleet in `source` into a new folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / DESCRIPTION, portable(read_description(source)))
    outcome, before = read_outcome(source), read_note(source)
    stamps: dict[str, Stamp] = {}
    for name in RECORDS:
        path = find_records(source, name)
        if path.exists():
            lines = checked_lines(path, whole=outcome is not None)
            kept = _thinned(lines, path, every) if every and name == "training" else lines
            compressed = f"{records_file(name)}{XZ}"
            stamps[compressed] = _write_xz(folder / compressed, (line for line, _ in kept))
    check_written(source, policies)
    for path in policies:
        content = io.BytesIO()
        arrays: dict[str, Any] = pack_compactly(*read_policy_file(path))
        np.savez_compressed(content, **arrays)
        target = path.relative_to(source)
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        stamps[target.as_posix()] = write_bytes(folder / target, content.getvalue())
    if outcome is not None:
        ended = Outcome(finished=outcome.finished, failed=outcome.failed, stamps={**stamps})
        write_json(folder / OUTCOME, msgspec.to_builtins(ended))
    note = ArchiveNote(
        recall_version=version(),
        # Archives may be thinned again.
        training_every=max(every or 0, before.training_every or 0 if before else 0) or None,
        policies=list(dict.fromkeys(path.parent.name for path in policies)),
    )
    write_json(folder / ARCHIVE_NOTE, msgspec.to_builtins(note))


def portable(description: Description) -> Description:
    """Return the content of run.json without the names of machines, folders and addresses.

    What determines results is not touched, so the digest stays valid.
    """
    changed = dict(description)
    if "machine" in description:
        changed["machine"] = {k: v for k, v in description["machine"].items() if k != "host"}
    if "command" in description:
        changed["command"] = _public(description["command"])
    if "plugins" in description:
        changed["plugins"] = [Path(name).name for name in description["plugins"]]
    return changed


def _public(command: Sequence[str]) -> list[str]:
    """Return a command without folders, and without the addresses of clusters and storage."""
    words: list[str] = []
    for word in command:
        option, equals, value = word.rpartition("=")
        if "://" in value or "--address" in (option, words[-1] if words else ""):
            value = "..."
        elif value.startswith(("/", "~", "..")):
            value = Path(value).name
        words.append(f"{option}{equals}{value}")
    return words


def _thinned(lines: Iterable[Line], path: Path, every: int) -> Iterator[Line]:
    """Yield the lines of training records; of those of updates, each run's last in `every` steps.

    Choices of heads, plasticity and health warnings are all kept.
    """
    kept: set[int] = set()
    last: dict[tuple[int, int], int] = {}
    for number, (_, record) in enumerate(lines):
        run, step = record.get("run"), record.get("step")
        if _RARE.isdisjoint(record) and isinstance(run, int) and isinstance(step, int):
            last[run, -(-step // every)] = number
        else:
            kept.add(number)
    kept.update(last.values())
    return (line for number, line in enumerate(checked_lines(path)) if number in kept)


def _write_xz(path: Path, lines: Iterable[bytes]) -> Stamp:
    """Write lines to a compressed file, atomically. The same lines always give the same bytes."""
    encoder = lzma.LZMACompressor(lzma.FORMAT_XZ, preset=_PRESET)
    length = 0
    with replacing(path) as file:
        for line in lines:
            length += len(line)
            file.write(encoder.compress(line))
        file.write(encoder.flush())
        if length > most_expanded(file.stamp.length):
            raise BadValueError(f"{path} expands further than would be read: its records are odd")
    return file.stamp
