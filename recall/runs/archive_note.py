"""archive.json: marks a fleet's folder as an archive, and says what was left out.

    schema           version of this file
    recall_version   version of the package that made the archive
    training_every   of each run's training records of updates, the last in so many steps is kept;
                     null if all are kept
    policies         the runs whose policies are kept, in float16

A folder with this file is read but never trained in.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recall.errors import BadValueError, RecallError
from recall.files.atomic import write_json
from recall.files.fleet_layout import ARCHIVE_NOTE, is_archive
from recall.files.reading import read_json

SCHEMA = 1


class ArchivedError(RecallError):
    """An archive is read, never trained in."""


@dataclass(frozen=True)
class ArchiveNote:
    """What an archive of a fleet left out."""

    recall_version: str
    training_every: int | None = None
    policies: tuple[str, ...] = ()

    def in_words(self) -> str:
        """Return what is missing from the training records, as a sentence, or an empty text."""
        if self.training_every is None:
            return ""
        return (
            "Training records were thinned when the runs were archived: of those of updates, the "
            f"last in every {self.training_every:,} steps is kept."
        )


def check_trainable(folder: Path) -> None:
    """Raise an error if a fleet was archived, so that it cannot be resumed."""
    if is_archive(folder):
        raise ArchivedError(
            f"{folder} is an archive and cannot be resumed: it has no checkpoints. Resume the "
            "fleet that it was made from, or train again in another folder"
        )


def write_note(folder: Path, note: ArchiveNote) -> None:
    """Write archive.json."""
    content = {"schema": SCHEMA, **vars(note), "policies": list(note.policies)}
    write_json(folder / ARCHIVE_NOTE, content)


def read_note(folder: Path) -> ArchiveNote | None:
    """Read archive.json; return None if a folder is no archive."""
    path = folder / ARCHIVE_NOTE
    if not path.exists():
        return None
    content = read_json(path, "restore it from a copy")
    if not (isinstance(content, dict) and _is_whole(content)):
        raise BadValueError(f"{path} does not have the expected content: it was damaged or edited")
    if content["schema"] != SCHEMA:
        raise BadValueError(f"{path} has schema {content['schema']!r}; this version reads {SCHEMA}")
    return ArchiveNote(
        content["recall_version"], content["training_every"], tuple(content["policies"])
    )


def _is_whole(content: dict[str, Any]) -> bool:
    every, policies = content.get("training_every", 0), content.get("policies")
    return (
        "schema" in content
        and isinstance(content.get("recall_version"), str)
        and (every is None or (isinstance(every, int) and every >= 1))
        and isinstance(policies, list)
        and all(isinstance(name, str) for name in policies)
    )
