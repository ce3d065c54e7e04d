"""The code of plug-ins is recorded, and a fleet that resumes with other code says so."""

import hashlib
import json
import sys
from functools import partial

import pytest

import recall
from recall import plugins
from recall.analysis.collection import gather
from recall.plugins import sources
from recall.runs.description import read_description
from tests.factories.events import Heard
from tests.factories.folders import write_fleet
from tests.plugins.restored import EXAMPLES, SETTINGS, plugins_forgotten

NAME = "edited_decay"


@pytest.fixture(autouse=True)
def forgotten():
    with plugins_forgotten():
        yield
    forget()


def forget():
    for name in [name for name in sys.modules if name.startswith("edited_")]:
        del sys.modules[name]


def written(folder, comment=""):
    """Write the example's method as a plug-in of another name, and return its file."""
    text = (EXAMPLES / "weight_decay.py").read_text().replace('"weight_decay"', f'"{NAME}"')
    path = folder / f"{NAME}.py"
    path.write_text(text + comment)
    return path


def loaded(plugin, use):
    """Do something with the plug-in as a new process would; return what it says."""
    forget()
    heard = Heard()
    with plugins_forgotten():
        recall.load_plugin(plugin)
        use(callback=heard)
    return heard.messages


@pytest.mark.slow
def test_a_fleet_that_resumes_with_an_edited_plugin_says_so(tmp_path):
    def resumed():
        (folder / "outcome.json").unlink()
        return loaded(plugin, partial(recall.resume, folder))

    plugin, folder = written(tmp_path), tmp_path / "fleet"
    train = partial(recall.train, NAME, "point-slide", out=folder, preset="quick", **SETTINGS)
    loaded(plugin, train)
    before = hashlib.sha256(plugin.read_bytes()).hexdigest()[:12]
    assert read_description(folder)["plugin_sources"] == {NAME: {"source": before}}
    assert not resumed()
    written(tmp_path, "# edited\n")
    after = hashlib.sha256(plugin.read_bytes()).hexdigest()[:12]
    (warning,) = resumed()
    for word in (NAME, before, after):
        assert word in warning


def test_every_module_of_a_package_counts_and_edits_after_the_import_do_not(tmp_path):
    package = tmp_path / "edited_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "losses.py").write_text("WEIGHT = 1.0\n")
    (package / "method.py").write_text("from edited_package.losses import WEIGHT\n")
    sys.path.append(str(tmp_path))

    def loaded():
        recall.load_plugin("edited_package.method")
        return sources()["edited_package"]["source"]

    before = loaded()
    (package / "losses.py").write_text("WEIGHT = 10.0\n")
    assert loaded() == before
    forget()
    with plugins_forgotten():
        plugins._digests.clear()
        assert loaded() != before


def fleet_of(folder, source, method=NAME, seeds=(0, 1), sequence="push,hammer"):
    """Write a fleet that was trained by the code with this digest; None if none was recorded."""
    write_fleet(folder, method, sequence, seeds)
    if source is not None:
        path = folder / "run.json"
        facts = {"plugin_sources": {NAME: {"source": source}}}
        path.write_text(json.dumps(json.loads(path.read_text()) | facts))


def test_runs_of_one_label_and_different_code_are_told(tmp_path):
    """Those of the same code, or of unknown code, are not."""
    for method in ("recall", "ewc"):
        fleet_of(tmp_path / method / "a", "aaa", method)
        fleet_of(tmp_path / method / "b", "bbb", method, seeds=(2,))
        fleet_of(tmp_path / method / "c", None, method, seeds=(3,))
    found = gather(tmp_path)
    assert {label: len(runs) for label, runs in found.by_label().items()} == {"EWC": 4, "RECALL": 4}
    (problem,) = found.problems
    assert "EWC, RECALL" in problem
    assert NAME in problem
    fleet_of(tmp_path / "same" / "a", "aaa", "recall")
    fleet_of(tmp_path / "same" / "b", "aaa", "recall", seeds=(2,))
    fleet_of(tmp_path / "same" / "c", None, "recall", seeds=(3,))
    assert not gather(tmp_path / "same").problems
