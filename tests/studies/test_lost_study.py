"""A study whose study.json is lost or damaged goes on with the fleets that are in its folder."""

import dataclasses
import json
import re

import pytest

from recall.errors import BadValueError
from recall.runs.fleet_folder import FolderInUseError
from recall.runs.store import Store
from recall.studies.launch.jobs import Outcome
from recall.studies.runner import plan_study
from recall.studies.study_folder import LOCK, read_study, write_study
from tests.factories.studies import CHOICES, FLEETS, ROOM, STUDY, launch

ONE_SEED = dataclasses.replace(CHOICES, seeds=1)


@pytest.fixture
def folder(tmp_path):
    """The folder of a study whose fleets are finished, without training."""
    folder = tmp_path / "study"
    fleets = plan_study(STUDY, CHOICES, folder, ROOM)
    for fleet in fleets:
        store = Store.create(folder / fleet.name, fleet.spec.describe())
        store.finish({})
    write_study(folder, STUDY, CHOICES, fleets, {}, Outcome())
    (folder / "logs").mkdir()
    (folder / "logs" / f"{FLEETS[0]}.log").write_text("")
    (folder / LOCK).write_text("")
    return folder


def test_a_damaged_study_file_says_how_to_go_on_and_that_works(folder):
    whole = (folder / "study.json").read_text()
    content = read_study(folder)
    for damaged in (whole[:100], json.dumps({"schema": 1, "study": "cw3"})):
        (folder / "study.json").write_text(damaged)
        with pytest.raises(BadValueError, match=r"study.json .*remove it and repeat the command"):
            launch(folder)
    (folder / "study.json").unlink()
    assert [fleet.name for fleet in launch(folder).finished] == list(FLEETS)
    assert read_study(folder) == content


def test_fleets_that_are_not_of_the_study_are_not_taken_over(folder):
    (folder / "study.json").unlink()
    reason = rf"no study.json, and {FLEETS[1]} in it has runs .*{re.escape(str(folder))}. reads"
    with pytest.raises(FolderInUseError, match=reason):
        plan_study(STUDY, ONE_SEED, folder, ROOM)
    longer = dataclasses.replace(CHOICES, scale=2.0)
    with pytest.raises(FolderInUseError, match="not in the study cw3 with these choices"):
        plan_study(STUDY, longer, folder, ROOM)
    (folder / "thesis").mkdir()
    with pytest.raises(FolderInUseError, match="holds no study, but thesis: choose another --out"):
        plan_study(STUDY, CHOICES, folder, ROOM)


def test_logs_alone_are_not_a_study(tmp_path):
    (tmp_path / "logs").mkdir()
    with pytest.raises(FolderInUseError, match="is not empty and holds no study, but logs"):
        plan_study(STUDY, CHOICES, tmp_path, ROOM)
