"""A study that goes on with other code of a plug-in than it began with says so."""

import dataclasses
import hashlib
import json
import shutil
from importlib import metadata

import pytest

import recall
from recall.cli import main
from recall.files.atomic import hidden_names
from recall.runs.store import Store
from recall.studies.launch.display import Lines
from recall.studies.launch.jobs import Outcome
from recall.studies.other_code import other_code
from recall.studies.runner import plan_study
from recall.studies.study_folder import write_study
from tests.factories.studies import CHOICES, ROOM, SEQUENCE, SMALL, STUDY, launch
from tests.plugins.restored import EXAMPLES, plugins_forgotten

PLUGIN = EXAMPLES / "weight_decay.py"
NAME = PLUGIN.stem
NOW = hashlib.sha256(PLUGIN.read_bytes()).hexdigest()[:12]
MORE = dataclasses.replace(CHOICES, methods=(NAME,), seeds=3)


@pytest.fixture(autouse=True)
def loaded():
    with plugins_forgotten():
        recall.load_plugin(PLUGIN)
        yield


def begun(folder, *sources, method=NAME, finished=True):
    """Write a study with a fleet for each code of the plug-in, without training."""
    choices = dataclasses.replace(MORE, methods=(method,), seeds=len(sources))
    fleets = plan_study(STUDY, choices, folder, ROOM)
    for fleet, source in zip(fleets, sources, strict=True):
        known = {"plugin_sources": {NAME: {"source": source}}}
        store = Store.create(folder / fleet.name, fleet.spec.describe() | known)
        if finished:
            store.finish({})
        else:
            store.close()
    write_study(folder, STUDY, choices, fleets, {}, Outcome())
    return folder


def told(folder, choices=MORE):
    return other_code(folder, plan_study(STUDY, choices, folder, ROOM))


def test_a_study_that_adds_a_seed_with_an_edited_plugin_says_so_before_it_trains(tmp_path, capsys):
    folder = begun(tmp_path / "study", "aaa", NOW)
    assert launch(folder, choices=MORE, display=Lines).exit_status == 0
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert first == (
        f"warning: {NAME} was started with plug-in {NAME} source aaa (now source {NOW}): its "
        "results may differ from those of fleets that start now"
    )
    assert second == f"{NAME}-3: 1 x 400 steps"
    assert not told(folder), "nothing starts any more"


def test_fleets_of_one_code_share_a_warning_and_a_dry_run_has_it_too(tmp_path, capsys):
    folder = begun(tmp_path / "study", "aaa", "aaa")
    warning = (
        f"warning: {NAME}, {NAME}-2 were started with plug-in {NAME} source aaa (now source "
        f"{NOW}): their results may differ from those of fleets that start now"
    )
    assert told(folder) == [warning]
    config = tmp_path / "small.json"
    config.write_text(json.dumps(SMALL))
    main(["study", STUDY.name, "--sequences", SEQUENCE, "--methods", NAME, "--seeds", "3",
          "--config", str(config), "--out", str(folder), "--dry-run"])  # fmt: skip
    assert capsys.readouterr().err.splitlines()[-1] == warning


def test_what_is_installed_is_searched_once_and_half_an_archive_is_passed_by(tmp_path, monkeypatch):
    folder = begun(tmp_path / "study", "aaa", "aaa")
    fleets = plan_study(STUDY, MORE, folder, ROOM)
    shutil.copytree(folder / NAME, hidden_names(folder / "archive")[0])
    searched = []
    monkeypatch.setattr(metadata, "packages_distributions", lambda: searched.append(1) or {})
    (warning,) = other_code(folder, fleets)
    assert warning.startswith(f"warning: {NAME}, {NAME}-2 were started with")
    assert len(searched) == 1


def test_fleets_of_the_same_code_and_fleets_that_resume_need_no_warning(tmp_path):
    assert not told(begun(tmp_path / "same", NOW, NOW))
    assert not told(begun(tmp_path / "resuming", "aaa", "aaa", finished=False))


def test_a_plugin_beside_our_methods_and_tasks_needs_no_warning(tmp_path):
    ours = dataclasses.replace(MORE, methods=("fine_tuning",))
    assert not told(begun(tmp_path / "ours", "aaa", method="fine_tuning"), ours)
    assert not told(begun(tmp_path / "theirs", "aaa"), ours)
    both = dataclasses.replace(MORE, methods=("fine_tuning", NAME))
    assert not told(begun(tmp_path / "both", "aaa", method="fine_tuning"), both)
