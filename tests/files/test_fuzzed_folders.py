"""Folders damaged in any way: every command gives results or one line, never a traceback."""

import contextlib
import json
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import recall
from recall.analysis.collection import gather
from recall.analysis.frames import analyse
from recall.analysis.metrics import Measure
from recall.errors import RecallError
from recall.report.tables import all_tables
from recall.runs.description import digest_of
from recall.runs.fleet_folder import hold
from recall.runs.store import read
from recall.studies.study_folder import known_fleets, read_study
from recall.training.callbacks import Callback
from recall.training.provenance import surroundings
from tests.files.damage import EFFORT, changed_json, damaged_bytes, make_folder, restore

EXAMPLES = 40 * EFFORT
FILES = ("run.json", "outcome.json", "evaluations.jsonl", "training.jsonl", "study.json")
ARCHIVED = ("archive.json", "run.json", "evaluations.jsonl.xz", "training.jsonl.xz")
STUDY = {
    "schema": 1,
    "study": "cw3",
    "choices": {"scale": 1.0, "preset": "default", "changes": {}},
    "variants": [{"name": "a", "method": "recall", "changes": {}, "shares": {}}],
    "fleets": [{"name": "run", "seconds": 3.0, "attempts": 1, "finished": False}],
}


@pytest.fixture(scope="module")
def made(crashed, tmp_path_factory):
    """The crashed fleet, in the folder of a study and as if it were finished."""
    folder = shutil.copytree(crashed, tmp_path_factory.mktemp("study") / "run")
    path = folder / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | surroundings() | {"plugins": ["a"]}))
    (folder / "outcome.json").write_text('{"schema": 1, "finished": true, "failed": {}}')
    (folder.parent / "study.json").write_text(json.dumps(STUDY))
    return folder


@pytest.fixture(scope="module")
def archived(made, tmp_path_factory):
    """An archive of the same fleet and study."""
    kept = tmp_path_factory.mktemp("kept") / "study"
    return recall.archive(made.parent, kept, "*", unfinished=True).folder / "run"


def resume(folder):
    with hold(folder):  # so that a folder that is fine is not trained in
        recall.resume(folder, callback=Callback())


def evaluate(folder):
    recall.evaluate(folder, tasks="none such")  # refused, but only after everything was read


def film(folder):
    recall.film(folder, at="learned", out="no.film")  # likewise


def load_policy(folder):
    recall.load_policy(folder, 0, at="learned")


def report(folder):
    collection = gather([folder.parent])
    all_tables(analyse(collection, Measure()))
    assert all("\n" not in problem for problem in collection.problems)


def study(folder):
    read_study(folder.parent)
    known_fleets(folder.parent)


def archive(folder):
    with tempfile.TemporaryDirectory() as place:
        kept = Path(place) / "kept"
        recall.archive(folder.parent, kept, "*", unfinished=True)


COMMANDS = (resume, evaluate, film, load_policy, report, read, study, archive)


def path_of(folder, name):
    return folder.parent / name if name == "study.json" else folder / name


def check_commands(folder):
    for command in COMMANDS:
        message = ""
        try:
            command(folder)
        except RecallError as error:
            message = str(error)
        assert "\n" not in message
        assert len(message) < 2000


many = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


@many
@given(data=st.data())
def test_changed_values_are_refused_or_used(made, data):
    """Any value of run.json, outcome.json or study.json replaced by any JSON."""
    name = data.draw(st.sampled_from(["run.json", "run.json", "outcome.json", "study.json"]))
    finished = name == "outcome.json" or data.draw(st.booleans())
    path, outcome = path_of(made, name), made / "outcome.json"
    before = {each: each.read_bytes() for each in (path, outcome)}
    content = data.draw(changed_json(json.loads(before[path])))
    if name == "run.json" and isinstance(content, dict) and data.draw(st.booleans()):
        with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError):
            content["digest"] = digest_of(content)
    try:
        path.write_text(json.dumps(content))
        if not finished:
            outcome.unlink()
        check_commands(made)
    finally:
        for each, was in before.items():
            restore(each, was)


@pytest.mark.parametrize(("folder", "files"), [("made", FILES), ("archived", ARCHIVED)])
@many
@given(data=st.data())
def test_damaged_files_are_refused_or_left_out(request, folder, files, data):
    """Any file cut short, flipped, filled with anything, lost, or a folder."""
    made = request.getfixturevalue(folder)
    policies = sorted(path.relative_to(made).as_posix() for path in made.glob("policies/*/*"))
    path = path_of(made, data.draw(st.sampled_from([*files, *policies])))
    before = path.read_bytes()
    how = data.draw(st.sampled_from(["bytes", "bytes", "bytes", "lost", "folder"]))
    outcome = (made / "outcome.json").read_bytes()
    try:
        if how == "folder":
            make_folder(path)
        elif how == "lost":
            path.unlink()
        else:
            path.write_bytes(data.draw(damaged_bytes(before)))
        if path.name != "outcome.json" and data.draw(st.booleans()):
            (made / "outcome.json").unlink()
        check_commands(made)
    finally:
        restore(path, before)
        restore(made / "outcome.json", outcome)
