"""Policies of finished fleets that are lost or damaged: what is told, and the way out."""

import shutil

import pytest

import recall
from recall.errors import RecallError
from recall.runs.description import read_description
from recall.training.callbacks import Callback
from tests.factories.folders import write_fleet


@pytest.fixture
def fleet(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "run")


def test_a_finished_fleet_without_policies_is_not_called_young(fleet):
    shutil.rmtree(fleet / "policies")
    for use in (recall.evaluate, lambda folder: recall.load_policy(folder, 0)):
        with pytest.raises(RecallError) as caught:
            use(fleet)
        assert str(caught.value) == (
            f"{fleet} is finished, but its policies are missing: restore them from a copy"
        )


def test_lost_and_damaged_final_policies_can_be_written_again(fleet):
    name = read_description(fleet)["runs"][0]["name"]
    path = fleet / "policies" / name / "final.npz"
    whole = path.read_bytes()
    advice = f"from a copy, or move {fleet / 'outcome.json'} away and run `recall resume {fleet}`"
    path.write_bytes(whole[:1_000])
    with pytest.raises(RecallError, match=r"final.npz is no policy file, or is damaged") as caught:
        recall.evaluate(fleet)
    assert f"restore it {advice}" in str(caught.value)
    with pytest.raises(RecallError, match=r"is damaged \(.*\): restore it from a copy$"):
        recall.load_policy(fleet, 0, name)
    path.unlink()
    with pytest.raises(RecallError, match="finished, but its final policies are missing") as caught:
        recall.evaluate(fleet)
    assert f"restore them {advice}" in str(caught.value)
    with pytest.raises(RecallError, match=r"its final policies are missing: restore .*at='learnt'"):
        recall.load_policy(fleet, 0, name)
    (fleet / "outcome.json").unlink()
    recall.resume(fleet, callback=Callback())
    assert path.read_bytes() == whole


def test_lost_policies_of_tasks_just_learnt_are_not_called_unfinished(fleet):
    name = read_description(fleet)["runs"][0]["name"]
    for path in sorted((fleet / "policies" / name).glob("task-*.npz"), reverse=True):
        path.unlink()
        with pytest.raises(RecallError, match=r"is finished, but its policies of task.*missing"):
            recall.load_policy(fleet, int(path.stem[-1]), name, at="learnt")


def test_a_fleet_of_which_every_run_failed_is_not_called_finished(tmp_path):
    folder = write_fleet(tmp_path, sequence="point-rich", seeds=(0,),
                         failed={"fine_tuning-point-rich-seed0": 500})  # fmt: skip
    with pytest.raises(RecallError, match=r"has no policies: every run failed: .* at step 500"):
        recall.evaluate(folder)
