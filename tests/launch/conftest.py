import pytest

from recall.api import run_fleet
from recall.studies.run import plan_study
from recall.watch import Watcher
from tests.studies.small_studies import CHOICES, ROOM, STUDY, left_by


@pytest.fixture(scope="session")
def uninterrupted(tmp_path_factory) -> dict[str, bytes]:
    """What the small study leaves when nothing happens to it."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    for fleet in plan_study(STUDY, CHOICES, folder, ROOM):
        run_fleet(fleet.spec, folder / fleet.name, Watcher())
    return left_by(folder)
