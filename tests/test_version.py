"""The version of the package, installed or not."""

from importlib import metadata
from pathlib import Path

import recall
from recall import version


def test_the_installed_version_is_the_source_trees():
    project = Path(recall.__file__).parents[1] / "pyproject.toml"
    assert f'version = "{recall.__version__}"' in project.read_text()


def test_a_source_tree_that_was_never_installed_has_a_version(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert version.version.__wrapped__() == f"{recall.__version__}+source"


def test_without_a_source_tree_the_version_is_unknown(tmp_path):
    path = tmp_path / "pyproject.toml"
    assert version._of_source_tree(path) == version.UNKNOWN
    for text in ("not toml [", "[project]\nname = 'other'\nversion = '1'"):
        path.write_text(text)
        assert version._of_source_tree(path) == version.UNKNOWN
