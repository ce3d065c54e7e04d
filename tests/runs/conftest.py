from pathlib import Path

import pytest
from small_runs import left_by, run, small_spec, start


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Path:
    """The folder of a small fleet that was never interrupted."""
    folder = tmp_path_factory.mktemp("finished")
    run(start(small_spec(), folder))
    return folder


@pytest.fixture(scope="session")
def uninterrupted(finished) -> dict[str, bytes]:
    """What it left."""
    return left_by(finished)
