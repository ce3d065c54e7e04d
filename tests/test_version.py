"""The version of the package, installed or not."""

from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import recall
from recall import version
from tests.factories.fleets import run, small_spec, start

REAL = metadata.version


@pytest.fixture
def never_installed(monkeypatch):
    """The source tree on the path of an interpreter that knows no distribution of it."""

    def missing(name: str) -> str:
        if name == version.DISTRIBUTION:
            raise metadata.PackageNotFoundError(name)
        return REAL(name)

    monkeypatch.setattr(metadata, "version", missing)
    version.version.cache_clear()
    yield
    version.version.cache_clear()


def test_the_installed_version_is_the_source_trees():
    project = Path(recall.__file__).parents[1] / "pyproject.toml"
    assert f'version = "{recall.__version__}"' in project.read_text()


@pytest.mark.slow
def test_a_source_tree_that_is_not_installed_trains_to_the_end(never_installed, tmp_path):
    installed = REAL(version.DISTRIBUTION)
    run(start(small_spec(seeds=(0,)), tmp_path / "fleet"))
    (stored,) = (tmp_path / "fleet").glob("policies/*/final.npz")
    assert str(np.load(stored)["recall_version"]) == f"{installed}+source"
    recall.make_report(tmp_path / "fleet", out=tmp_path / "report")
    page = (tmp_path / "report" / "index.html").read_text()
    assert f"with recall {installed}+source" in page
    recall.archive(tmp_path / "fleet", tmp_path / "archive")


def test_without_a_source_tree_the_version_is_unknown(tmp_path):
    path = tmp_path / "pyproject.toml"
    assert version._of_source_tree(path) == version.UNKNOWN
    for text in ("not toml [", "[project]\nname = 'other'\nversion = '1'"):
        path.write_text(text)
        assert version._of_source_tree(path) == version.UNKNOWN
