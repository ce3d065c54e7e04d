"""A fleet is what it was started as, and says so if the software around it is another."""

import json

import pytest

import recall
from recall.runs.description import EditedFleetError
from recall.training.callbacks import Callback
from tests.factories.fleets import CrashAt, CrashError, run, small_spec, start


@pytest.fixture
def stopped(tmp_path):
    """The folder of a fleet of one run that crashed after its first checkpoints."""
    spec = small_spec("fine_tuning", seeds=(0,), checkpoint_minutes=1e-9)
    with pytest.raises(CrashError):
        run(start(spec, tmp_path / "run", CrashAt(8)))
    return tmp_path / "run"


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


class Heard(Callback):
    def __init__(self):
        self.messages = []

    def on_message(self, message):
        self.messages.append(message)


def test_settings_that_do_not_matter_may_be_edited_and_other_versions_are_named(stopped):
    def change(description):
        description["settings"]["schedule"]["workers"] = 1
        description["versions"] = {"jax": "0.0.1", "python": "3.0.0"}
        description["git"] = {"commit": "f" * 40, "dirty": False}

    edit(stopped, change)
    heard = Heard()
    recall.resume(stopped, callback=heard)
    (warning,) = heard.messages
    assert warning.startswith("warning: this fleet was started with jax 0.0.1 (now ")
    assert "python 3.0.0 (now 3." in warning
    assert "source code ffffffffffff (now " in warning
    assert warning.endswith("from those of a fleet that was never interrupted")
