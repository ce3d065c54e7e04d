"""Folders that somebody prepared to do harm: every command refuses them or stays inside them."""

import json
import os
import shutil

import pytest

import recall
from recall.errors import RecallError
from recall.files.stamps import read_stamps
from recall.runs.description import digest_of
from recall.training.callbacks import Callback
from tests.factories.studies import launch


@pytest.fixture
def folder(crashed, tmp_path):
    return shutil.copytree(crashed, tmp_path / "hostile" / "run")


@pytest.fixture
def outside(tmp_path):
    """Somebody's own files, which must stay as they are."""
    there = tmp_path / "outside"
    there.mkdir()
    (there / "mine").write_text("private")
    return there


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


COMMANDS = {
    "resume": lambda folder: recall.resume(folder, callback=Callback()),
    "evaluate": lambda folder: recall.evaluate(folder),
    "film": lambda folder: recall.film(folder, at="learned"),
    "report": lambda folder: recall.make_report(folder, folder.parent / "report"),
}


@pytest.mark.parametrize("name", ["../../../outside/planted", "/tmp/planted"])
def test_a_name_that_leads_elsewhere_is_refused(folder, outside, name):
    path = folder / "run.json"
    description = json.loads(path.read_text())
    description["runs"][0]["name"] = name
    path.write_text(json.dumps(description | {"digest": digest_of(description)}))
    for command in COMMANDS.values():
        with pytest.raises(RecallError, match=r"run.json was damaged or edited .*runs\[0\]\.name"):
            command(folder)
    assert contents(outside) == {outside / "mine": b"private"}


@pytest.mark.parametrize("name", ["../../outside/mine", "/dev/null", "policies/../run.json"])
def test_no_checksum_leads_a_read_elsewhere(folder, name):
    outcome = {"schema": 1, "failed": {}, "stamps": {name: [1, 0]}}
    (folder / "outcome.json").write_text(json.dumps(outcome))
    for command in COMMANDS.values():
        with pytest.raises(RecallError, match=r"outcome.json was damaged or edited"):
            command(folder)
    with pytest.raises(ValueError, match="matching regex"):
        read_stamps({name: [1, 0]})


@pytest.mark.parametrize(
    "link",
    ["lock", "evaluations.jsonl", "training.jsonl", "replay/task-0.rows", "run.tmp", "outcome.tmp",
     "policies", "checkpoints", "tensorboard", "programs", "replay/old-0.npy"],
)  # fmt: skip
def test_resuming_writes_through_no_link(folder, outside, link):
    path = folder / link
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.symlink_to(outside if "." not in link and link != "lock" else outside / "mine")
    with pytest.raises(RecallError, match="is a link that leads out of"):
        COMMANDS["resume"](folder)
    assert contents(outside) == {outside / "mine": b"private"}


def test_a_pipe_in_place_of_records_is_refused_and_not_waited_for(folder):
    (folder / "evaluations.jsonl").unlink()
    os.mkfifo(folder / "evaluations.jsonl")
    with pytest.raises(RecallError, match="is neither a file nor a folder"):
        COMMANDS["resume"](folder)


def test_a_film_is_not_written_through_a_link(folder, outside):
    (folder / "films").symlink_to(outside)
    with pytest.raises(RecallError, match="films is a link that leads out of"):
        COMMANDS["film"](folder)
    assert contents(outside) == {outside / "mine": b"private"}


@pytest.mark.parametrize("link", ["study.lock", "study.json", "logs", "stolen"])
def test_a_study_writes_through_no_link(tmp_path, outside, link):
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / link).symlink_to(outside / "mine" if "." in link else outside)
    with pytest.raises(RecallError) as caught:
        launch(folder)
    assert "\n" not in str(caught.value)
    assert contents(outside) == {outside / "mine": b"private"}
