"""A folder holds one study, which outlives the loss of study.json."""

import dataclasses
import json

import pytest

from recall.errors import BadValueError
from recall.runs.fleet_folder import FolderInUseError
from recall.runs.store import Store
from recall.studies import STUDIES
from recall.studies.runner import plan_study
from recall.studies.study_folder import LOCK, read_study, write_study
from tests.factories.studies import CHOICES, FLEETS, ROOM, SMALL, STUDY, launch


@pytest.fixture
def folder(tmp_path):
    """The folder of a study whose fleets are finished, without training."""
    folder = tmp_path / "study"
    fleets = plan_study(STUDY, CHOICES, folder, ROOM)
    for fleet in fleets:
        store = Store.create(folder / fleet.name, fleet.spec.describe())
        store.finish({})
    write_study(folder, STUDY, CHOICES, fleets)
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
    (folder / "study.json").write_text('{"schema": 2, "plans": []}')
    with pytest.raises(BadValueError, match="has schema 2; this version reads 1"):
        launch(folder)
    (folder / "study.json").unlink()
    assert [fleet.name for fleet in launch(folder).finished] == list(FLEETS)
    assert read_study(folder) == content


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"scale": 0.5}, "scale 1.0 and not 0.5"),
        ({"changes": SMALL | {"batch_size": 32}}, "batch_size 16 and not 32"),
        (
            {"changes": {name: SMALL[name] for name in SMALL if name != "batch_size"}},
            "batch_size 16 and not as in the preset",
        ),
    ],
)
def test_a_folder_holds_one_study_with_one_scale(folder, changed, words):
    with pytest.raises(FolderInUseError, match=f"study cw3, with {words}: choose another --out"):
        plan_study(STUDY, dataclasses.replace(CHOICES, **changed), folder, ROOM)
    with pytest.raises(FolderInUseError, match="the study cw3, with study cw3 and not cw6"):
        plan_study(STUDIES["cw6"], CHOICES, folder, ROOM)


def test_a_folder_with_something_else_in_it_is_not_taken_over(folder, tmp_path):
    (folder / "study.json").unlink()
    for others in ({"scale": 2.0}, {"seeds": 1}):
        with pytest.raises(FolderInUseError, match=r"runs of .* not in the study cw3.*--out"):
            plan_study(STUDY, dataclasses.replace(CHOICES, **others), folder, ROOM)
    (folder / "thesis").mkdir()
    with pytest.raises(FolderInUseError, match="holds no study, but thesis: choose another --out"):
        plan_study(STUDY, CHOICES, folder, ROOM)
    (tmp_path / "new" / "logs").mkdir(parents=True)
    with pytest.raises(FolderInUseError, match="is not empty and holds no study, but logs"):
        plan_study(STUDY, CHOICES, tmp_path / "new", ROOM)
