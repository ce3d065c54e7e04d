"""run.json: what a fleet was started as, with a digest of everything that determines results."""

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from recall.config.resolve import flattened
from recall.errors import BadValueError, RecallError
from recall.files.fleet_layout import DESCRIPTION, StoredRun, no_fleet
from recall.files.reading import read_checked

WITHOUT_SUCCESS = "without_success"
"""Key of run.json: the tasks that do not report success, found by one random episode of each."""
# These settings do not affect results: fleets that differ only in them are the same fleet.
_NO_MATTER = ("workers", "checkpoint_minutes")
_MOST_CHANGES = 3

Description = dict[str, Any]
_Texts = dict[str, str]


class EditedFleetError(RecallError):
    """run.json is not what the fleet was started with."""


class _Method(msgspec.Struct):
    name: str


class _Schedule(msgspec.Struct):
    steps_per_task: Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]


class _Learner(msgspec.Struct):
    sac: dict[str, Any] = {}
    popart: dict[str, Any] = {}


class _Settings(msgspec.Struct):
    schedule: _Schedule
    learner: _Learner = msgspec.field(default_factory=_Learner)


class _Machine(msgspec.Struct):
    system: str | None = None
    processor: str | None = None
    accelerators: list[str] | None = None


class _Git(msgspec.Struct):
    commit: str


class _Schema(msgspec.Struct):
    """What others than methods and settings need of run.json."""

    schema: Literal[1]
    runs: Annotated[list[StoredRun], msgspec.Meta(min_length=1)]
    method: _Method
    settings: _Settings
    digest: str | None = None
    versions: _Texts | None = None
    machine: _Machine | None = None
    git: _Git | None = None
    command: list[str] | None = None
    functions: list[str] | None = None
    plugins: list[str] | None = None
    plugin_sources: dict[str, _Texts] | None = None
    without_success: list[str] | None = None

    def __post_init__(self) -> None:
        if len({len(run.tasks) for run in self.runs}) > 1:
            raise ValueError("its runs have different numbers of tasks")
        if len({run.name for run in self.runs}) < len(self.runs):
            raise ValueError("two runs have the same name")


def read_description(folder: Path) -> Description:
    """Read run.json of a folder, and check what is needed of it but its settings."""
    path = folder / DESCRIPTION
    if not folder.exists():
        raise BadValueError(f"there is no folder {folder}")
    if not path.exists():
        raise BadValueError(no_fleet(folder))
    content = read_checked(path, _Schema)
    # Facts that are null are as good as missing.
    return {name: value for name, value in content.items() if value is not None}


def tasks_without_success_flag_in(folder: Path) -> tuple[str, ...]:
    """Return the tasks of the fleet in a folder that do not report success."""
    try:
        return tuple(read_description(folder).get(WITHOUT_SUCCESS, ()))
    except (RecallError, OSError):
        return ()


def identity(description: Description) -> Description:
    """Return the part of a description that determines results, as JSON holds it."""
    settings = dict(description["settings"])
    settings["schedule"] = {
        name: value for name, value in settings["schedule"].items() if name not in _NO_MATTER
    }
    kept = {"method": description["method"], "runs": description["runs"], "settings": settings}
    return json.loads(json.dumps(kept))


def digest_of(description: Description) -> str:
    """Return the digest of everything in a description that determines results."""
    text = json.dumps(identity(description), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def is_edited(description: Description) -> bool:
    """Return True if what determines results is not what `digest` was computed from."""
    return "digest" in description and description["digest"] != digest_of(description)


def check_unedited(folder: Path, description: Description) -> None:
    """Raise EditedFleetError if run.json is not what the fleet was started with."""
    if is_edited(description):
        raise EditedFleetError(
            f"{folder / DESCRIPTION} was edited after the fleet was started: undo the edit, or "
            "train the changed fleet in another folder"
        )


def differences(held: Description, wanted: Description) -> list[tuple[str, Any, Any]]:
    """Return the dotted name and both values of everything in which two identities differ."""
    one, other = flattened(_numbered(held)), flattened(_numbered(wanted))
    names = dict.fromkeys([*one, *other])
    return [
        (name, one.get(name), other.get(name)) for name in names if one.get(name) != other.get(name)
    ]


def _numbered(value: Any) -> Any:
    """Return a value with its lists of objects, such as runs, as objects by index."""
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        value = dict(enumerate(value))
    return {k: _numbered(v) for k, v in value.items()} if isinstance(value, dict) else value


def in_words(changes: list[tuple[str, Any, Any]]) -> str:
    """Return the first differences as text: the name of each setting, and both of its values."""
    return "; ".join(
        f"{name.rpartition('.')[2]:.80} {one!s:.80} and not {other!s:.80}"
        for name, one, other in changes[:_MOST_CHANGES]
    )
