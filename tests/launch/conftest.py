import os

import jax
import pytest

from recall.api import run_fleet
from recall.studies.run import plan_study
from recall.watch import Watcher
from tests.studies.small_studies import CHOICES, ROOM, STUDY, left_by


@pytest.fixture(scope="session", autouse=True)
def _compile_once(tmp_path_factory):
    """What this process compiles, the processes that it starts find, however little it takes."""
    folder = os.environ.setdefault(
        "JAX_COMPILATION_CACHE_DIR", str(tmp_path_factory.mktemp("compiled"))
    )
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


@pytest.fixture(scope="session")
def uninterrupted(tmp_path_factory) -> dict[str, bytes]:
    """What the small study leaves when nothing happens to it."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    for fleet in plan_study(STUDY, CHOICES, folder, ROOM):
        run_fleet(fleet.spec, folder / fleet.name, Watcher())
    return left_by(folder)
