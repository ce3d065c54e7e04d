import pytest

from tests.factories.studies import CHOICES, left_when_nothing_happens


@pytest.fixture(scope="session")
def uninterrupted(tmp_path_factory) -> dict[str, bytes]:
    """What the small study leaves when nothing happens to it."""
    return left_when_nothing_happens(CHOICES, tmp_path_factory.mktemp("uninterrupted"))
