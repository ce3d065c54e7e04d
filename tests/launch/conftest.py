import os

import pytest

from tests.studies.small_studies import Launch, launch


@pytest.fixture(scope="session", autouse=True)
def _compile_once(tmp_path_factory):
    """Processes that start one after the other find even what takes a moment to compile."""
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        os.environ["JAX_COMPILATION_CACHE_DIR"] = str(tmp_path_factory.mktemp("compiled"))
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Launch:
    """A small study that nothing happened to."""
    return launch(tmp_path_factory.mktemp("finished") / "study")
