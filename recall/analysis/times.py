"""Training times of fleets, from the studies that launched them; fleets' records hold no times."""

from pathlib import Path
from typing import Any

from recall.files.fleet_layout import STUDY, STUDY_SCHEMA
from recall.files.reading import read_json


class Times:
    """Training times of fleets, from the study.json next to their folders. Each is read once."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._studies: dict[Path, dict[str, float]] = {}

    def of(self, folder: Path) -> float | None:
        """Return the wall time in seconds of the fleet in `folder`, or None if not recorded."""
        folder = folder.absolute()
        study = folder.parent / STUDY
        if study not in self._studies:
            self._studies[study] = self._read(study)
        return self._studies[study].get(folder.name)

    def _read(self, path: Path) -> dict[str, float]:
        try:
            return _seconds(read_json(path)) if path.exists() else {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
            self.problems.append(
                f"{path} cannot be used ({reason}): the training times of its fleets are left out."
            )
            return {}


def _seconds(study: dict[str, Any]) -> dict[str, float]:
    if study["schema"] != STUDY_SCHEMA:
        raise ValueError(f"it has schema {study['schema']!r}; this version reads {STUDY_SCHEMA}")
    seconds = {str(fleet["name"]): float(fleet["seconds"]) for fleet in study["fleets"]}
    return {name: value for name, value in seconds.items() if value > 0}
