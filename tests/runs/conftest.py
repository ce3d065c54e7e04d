import pytest

from tests.factories.folders import write_fleet


@pytest.fixture
def fleets(tmp_path):
    """A method on a sequence, with the single tasks that it is compared with."""
    write_fleet(tmp_path / "runs" / "a", "recall", "push,hammer")
    write_fleet(tmp_path / "runs" / "b", sequence=[["push"], ["hammer"]])
    return tmp_path / "runs"
