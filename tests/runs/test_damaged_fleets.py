"""Finished fleets whose files are lost, cut short or edited: what is told, and the way out."""

import json
import shutil

import pytest

import recall
from recall.analysis.collection import gather
from recall.analysis.frames import analyse, list_of
from recall.errors import BadValueError, RecallError
from recall.report.figures import Gallery
from recall.report.page import page
from recall.runs.store import read
from recall.training.callbacks import Callback
from tests.factories.folders import EVERY, STEPS, forget_stamps, write_fleet

SEED0, SEED1 = (f"fine_tuning-push,hammer-seed{seed}" for seed in (0, 1))


def told(folder, *words) -> bool:
    """Whether one problem of the fleet says all of the words."""
    problems = gather(folder).problems
    return any(all(word in problem for word in words) for problem in problems)


def scored(folder) -> list[int]:
    """The seeds that tables show."""
    return list_of(analyse(gather(folder)).scores, "seed")


def drop(folder, lost, name="evaluations"):
    """Remove the records for which `lost` holds; return how many there were."""
    path = folder / f"{name}.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    kept = [line for line in lines if not lost(json.loads(line))]
    path.write_text("".join(kept))
    return len(lines) - len(kept)


def cut(path, count):
    path.write_bytes(path.read_bytes()[:-count])


@pytest.fixture
def fleet(tmp_path):
    folder = write_fleet(tmp_path / "a")
    assert gather(folder).problems == ()
    return folder


def test_a_whole_fleet_is_complete_in_the_modes_that_it_has(fleet):
    """A schedule may have no deterministic episodes."""
    assert drop(fleet, lambda record: record["mode"] == "deterministic")
    found = gather(fleet)
    assert found.problems == ()
    assert [run.complete for run in found.runs] == [True, True]


def test_a_cut_line_of_a_finished_fleet_is_counted_and_its_run_left_out(fleet):
    cut(fleet / "evaluations.jsonl", 20)
    assert told(fleet, "evaluations.jsonl: 1 line cannot be used")
    assert told(fleet, SEED1, "step 2,000 lacks evaluations of hammer (deterministic)",
                "left out of the tables")  # fmt: skip
    assert not told(fleet, SEED0)
    assert scored(fleet) == [0]
    assert page(analyse(gather(fleet)), [], Gallery(())).count("<td>evaluations lost</td>") == 1
    run = gather(fleet).runs[1]
    assert (run.finished, run.complete, len(run.steps)) == (True, False, 8)
    (fleet / "outcome.json").unlink()
    assert not told(fleet, "cannot be used")  # it may be being written


def test_a_damaged_outcome_is_written_again_by_resuming(finished, tmp_path):
    folder = shutil.copytree(finished, tmp_path / "run")
    whole = (folder / "outcome.json").read_bytes()
    for damaged in (whole[:20], b"{}", b'{"failed": {"a": "late"}}', b'{"failed": {"a": -1}}'):
        (folder / "outcome.json").write_bytes(damaged)
        assert told(folder, "outcome.json", "remove it and resume", "left out")
        with pytest.raises(BadValueError, match="remove it and resume"):
            recall.resume(folder)
    (folder / "outcome.json").unlink()
    recall.resume(folder, callback=Callback())
    assert (folder / "outcome.json").read_bytes() == whole


@pytest.mark.parametrize("name", ["outcome.json", "run.json"])
def test_damaged_json_without_checkpoints_is_restored_from_a_copy(fleet, name):
    cut(fleet / name, 20)
    assert told(fleet, f"{name} is not valid JSON", "restore it from a copy")
    with pytest.raises(BadValueError, match=rf"{name} is not valid JSON .*: restore it from a"):
        recall.resume(fleet)


@pytest.mark.parametrize("lose", [lambda path: path.unlink(), lambda path: path.write_text("")])
def test_a_finished_fleet_without_evaluations_is_not_called_young(fleet, lose):
    lose(fleet / "evaluations.jsonl")
    assert told(fleet, "is finished, but its evaluations are missing",
                "restore evaluations.jsonl from a copy")  # fmt: skip


def test_a_fleet_with_a_failed_run_is_archived(tmp_path):
    folder = write_fleet(tmp_path / "a", failed={SEED1: STEPS + EVERY})
    assert len(gather(folder).problems) == 1
    assert not told(folder, "lacks")
    assert recall.archive(folder, tmp_path / "kept").runs == 2


def policy_of(seed, label="final"):
    return f"policies/recall-point-rich,point-poor-seed{seed}/{label}.npz"


SWAPS = {
    "training.jsonl": "evaluations.jsonl",
    "evaluations.jsonl": "training.jsonl",
    policy_of(0): policy_of(1),
    policy_of(1): policy_of(1, "task-0"),
}


@pytest.mark.parametrize("stamped", [True, False])
@pytest.mark.parametrize("name", SWAPS)
@pytest.mark.parametrize("how", ["swapped", "lost", "flipped"])
def test_no_file_of_a_finished_fleet_is_changed_without_a_word(
    finished, tmp_path, name, how, stamped
):
    """Stamps tell of every change; without them, a policy tells whose it is."""
    folder = shutil.copytree(finished, tmp_path / "run")
    content = bytearray((folder / name).read_bytes())
    if how == "swapped":
        content = bytearray((folder / SWAPS[name]).read_bytes())
    content[len(content) // 2] ^= how == "flipped"
    (folder / name).write_bytes(content)
    if how == "lost":
        (folder / name).unlink()
    if not stamped:
        forget_stamps(folder)
        if name.endswith(".jsonl") or how == "flipped" or "seed1" in name:
            return
    if name.endswith(".npz"):
        seed = name.split("seed")[1][0]
        with pytest.raises(RecallError, match=r"npz|missing"):
            recall.load_policy(folder, 0, run=f"recall-point-rich,point-poor-seed{seed}")
        with pytest.raises(RecallError, match=r"npz|missing"):
            recall.evaluate(folder, episodes=1)
    else:
        assert told(folder, name, "from a copy")
        with pytest.raises(RecallError, match=name):
            read(folder)
    if stamped:
        with pytest.raises(RecallError, match=name):
            recall.archive(folder, tmp_path / "kept", "*")
