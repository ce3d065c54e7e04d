"""The version of the package, installed or not."""

from importlib import metadata
from pathlib import Path

import recall


def test_the_installed_version_is_the_source_trees():
    project = Path(recall.__file__).parents[1] / "pyproject.toml"
    assert f'version = "{recall.__version__}"' in project.read_text()


def test_without_an_installation_the_version_is_unknown(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert recall.__version__ == "unknown"
