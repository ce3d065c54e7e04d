import pytest

from recall.api import run_fleet
from recall.callbacks import Callback
from recall.studies.runner import plan_study
from tests.factories.studies import CHOICES, ROOM, STUDY, left_by


@pytest.fixture(scope="session")
def uninterrupted(tmp_path_factory) -> dict[str, bytes]:
    """What the small study leaves when nothing happens to it."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    for fleet in plan_study(STUDY, CHOICES, folder, ROOM):
        run_fleet(fleet.spec, folder / fleet.name, Callback())
    return left_by(folder)
