"""What the messages about a fleet's folder tell the user to do."""

import json
import shlex

import pytest

import recall
from recall.analysis.collection import gather
from recall.errors import BadValueError
from recall.files.fleet_layout import Status, failures_in, status
from recall.plugins import loaded
from recall.runs.description import differences, identity, read_description
from recall.runs.fleet_folder import (
    FolderInUseError,
    after_full_disk,
    check_free,
    resume_command,
)
from tests.factories.folders import EVERY, write_fleet


def write_unfinished(folder, **facts):
    write_fleet(folder, finished=False, until=EVERY)
    path = folder / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | facts))
    return folder


def test_plugins_are_part_of_the_command(tmp_path):
    folder = write_unfinished(tmp_path / "a fleet", plugins=["my_world", "/my files/decay.py"])
    assert shlex.split(resume_command(folder)) == [
        "recall", "resume", str(folder), "--plugin", "my_world", "--plugin", "/my files/decay.py"
    ]  # fmt: skip
    assert not {"my_world", "/my files/decay.py"}.intersection(loaded())
    (problem,) = gather(folder).problems
    assert f"Continue it with `{resume_command(folder)}`" in problem


def test_a_difference_in_one_run_is_named(tmp_path):
    held, wanted = (
        identity(read_description(write_fleet(tmp_path / str(seed), seeds=(0, seed))))
        for seed in (1, 2)
    )
    found = {name: values for name, *values in differences(held, wanted)}
    assert found["runs.1.seed"] == [1, 2]
    assert all(name.startswith("runs.1.") for name in found)


def test_a_fleet_without_a_run_left_is_told_as_such(tmp_path):
    names = [f"fine_tuning-push,hammer-seed{seed}" for seed in (0, 1)]
    one = write_fleet(tmp_path / "one", failed={names[0]: 61})
    both = write_fleet(tmp_path / "both", failed=dict.fromkeys(names, 1_061))
    told = f"every run failed: {names[0]} at step 1,061, {names[1]} at step 1,061"
    assert (failures_in(one), failures_in(both)) == ("", told)
    (both / "evaluations.jsonl").write_text("")
    (problem,) = gather(both).problems
    assert problem == f"{both} has no evaluations, since {told}: left out."
    with pytest.raises(FolderInUseError, match=f"already holds this run, {told}"):
        check_free(both, read_description(both))
    with pytest.raises(FolderInUseError, match="already holds this run, finished"):
        check_free(one, read_description(one))


def test_status_says_how_far_a_fleet_got(tmp_path):
    names = [f"fine_tuning-push,hammer-seed{seed}" for seed in (0, 1)]
    assert status(tmp_path) is Status.EMPTY
    assert after_full_disk(tmp_path).startswith("Nothing was saved")
    fleet = write_unfinished(tmp_path / "fleet")
    assert status(fleet) is Status.UNFINISHED
    assert "from the beginning" in after_full_disk(fleet)
    (fleet / "evaluations.jsonl").write_text("")
    assert status(fleet) is Status.STARTED
    (fleet / "checkpoints").mkdir()
    (fleet / "checkpoints" / "1.tmp").touch()
    assert status(fleet) is Status.STARTED
    (fleet / "checkpoints" / "1.npz").touch()
    assert status(fleet) is Status.UNFINISHED
    assert "from the last checkpoint" in after_full_disk(fleet)
    assert status(write_fleet(tmp_path / "one", failed={names[0]: 61})) is Status.FINISHED
    both = write_fleet(tmp_path / "both", failed=dict.fromkeys(names, 1_061))
    assert status(both) is Status.FAILED
    assert status(recall.archive(both, tmp_path / "kept").folder) is Status.FAILED
    (both / "outcome.json").write_text("{")
    with pytest.raises(BadValueError, match=r"outcome.json is not valid JSON"):
        status(both)
