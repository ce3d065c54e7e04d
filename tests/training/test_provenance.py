"""What run.json says about a fleet and the source code, and fleets that are no longer that."""

import json
import subprocess

import pytest

import recall
from recall.runs.description import EditedFleetError
from recall.training.callbacks import Callback
from recall.training.provenance import git_state
from tests.factories.fleets import CrashError


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "recall").mkdir()
    (tmp_path / "recall" / "code.py").write_text("")
    for command in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def test_a_checkout_is_clean_whatever_results_lie_in_it_but_not_with_other_code(checkout):
    (checkout / "index.html").write_text("")
    state = git_state(checkout)
    assert (len(state["commit"]), state["dirty"]) == (40, False)
    assert git_state(checkout / "recall") is None, "no checkout of this package"
    for name in ("new.py", "code.py"):
        (checkout / "recall" / name).write_text("x = 1")
        assert git_state(checkout)["dirty"]
        (checkout / "recall" / "new.py").unlink(missing_ok=True)


def edit(folder, change):
    path = folder / "run.json"
    description = json.loads(path.read_text())
    change(description)
    path.write_text(json.dumps(description))


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["settings"]["schedule"].update(steps_per_task=600),
        lambda d: d["runs"][0].update(seed=4),
        lambda d: d["runs"][0].update(tasks=["point-poor", "point-rich"]),
        lambda d: d["method"].update(batch_size=32),
    ],
    ids=["settings", "seed", "tasks", "method"],
)
def test_an_edited_fleet_is_refused(stopped, change):
    edit(stopped, change)
    for command in (recall.resume, recall.evaluate, recall.film):
        with pytest.raises(EditedFleetError, match=r"run\.json.* undo the edit"):
            command(stopped)


def test_settings_that_do_not_matter_may_be_edited_and_other_versions_are_named(stopped):
    def change(description):
        description["settings"]["schedule"]["workers"] = 2
        description["versions"] = {"jax": "0.0.1", "python": "3.0.0"}
        description["git"] = {"commit": "f" * 40, "dirty": False}

    class Leave(Callback):  # as soon as it is told
        def on_message(self, message):
            raise CrashError(message)

    edit(stopped, change)
    with pytest.raises(CrashError) as caught:
        recall.resume(stopped, callback=Leave())
    warning = str(caught.value)
    assert warning.startswith("warning: this fleet was started with jax 0.0.1 (now ")
    assert "python 3.0.0 (now 3." in warning
    assert "source code ffffffffffff (now " in warning
    assert warning.endswith("from those of a fleet that was never interrupted")
