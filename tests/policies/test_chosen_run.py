"""Which run's policy is loaded if runs have different tasks, and what is said if there is none."""

import re
import shutil

import pytest

import recall
from recall.errors import BadValueError, RecallError, UnknownNameError
from tests.factories.policies import write_untrained

SEQUENCES = ("point-rich,point-poor", "point-poor,point-slide")
FIRST, OTHER = (f"fine_tuning-{sequence}-seed0" for sequence in SEQUENCES)
SECOND_SEED = OTHER.replace("seed0", "seed1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write a fleet of two sequences and two seeds with policies of zeros."""
    return write_untrained(tmp_path_factory.mktemp("fleet"), SEQUENCES, (0, 1))


@pytest.fixture
def archived(folder, tmp_path):
    """Keep the policies of the second sequence's first seed alone."""
    kept = shutil.copytree(folder, tmp_path / "kept")
    (kept / "archive.json").write_text("{}")
    for path in (kept / "policies").iterdir():
        if path.name != OTHER:
            shutil.rmtree(path)
    return kept


def test_the_first_run_that_has_the_task_is_taken(folder):
    assert recall.load_policy(folder, "point-slide").run == OTHER
    assert recall.load_policy(folder, "point-poor").run == FIRST
    assert recall.load_policy(folder, 1).run == FIRST
    chosen = recall.load_policy(folder, "point-slide", run=SECOND_SEED)
    assert (chosen.run, chosen.position) == (SECOND_SEED, 1)


def test_a_number_in_the_sequence_chooses_the_run_too(folder):
    chosen = recall.load_policy(folder, "1 point-poor")
    assert (chosen.run, chosen.position) == (OTHER, 0)
    assert recall.load_policy(folder, "2 point-poor").run == FIRST
    assert recall.load_policy(folder, "1").position == 1


def test_repeated_tasks_are_loaded_and_shown_by_their_numbers(tmp_path):
    repeated = write_untrained(tmp_path, "point-rich,point-poor,point-rich")
    policy = recall.load_policy(repeated, "3 point-rich")
    assert (policy.task, policy.position) == ("point-rich", 2)
    assert "on 3 point-rich:" in repr(policy)


def test_a_task_of_other_runs_is_told_with_these(folder):
    with pytest.raises(UnknownNameError) as caught:
        recall.load_policy(folder, "point-slide", run=FIRST)
    message = str(caught.value)
    assert message.startswith(f"unknown task of run {FIRST} 'point-slide'")
    assert f"Runs that have it: {OTHER}, {SECOND_SEED} (run=, --run)." in message


def test_a_task_of_no_run_is_told_with_those_of_all(folder):
    with pytest.raises(UnknownNameError, match=re.escape(str(folder))) as caught:
        recall.load_policy(folder, "point-swop")
    assert caught.value.valid == ["point-rich", "point-poor", "point-slide"]
    with pytest.raises(UnknownNameError, match=f"of run {FIRST}") as caught:
        recall.load_policy(folder, "point-swop", run=FIRST)
    assert "Runs that have it" not in str(caught.value)


def test_policies_that_were_not_archived_are_not_called_unknown(archived):
    assert recall.load_policy(archived, "point-poor").run == OTHER
    with pytest.raises(BadValueError, match=f"run {FIRST} were not archived .* those of {OTHER}:"):
        recall.load_policy(archived, 0, run=FIRST)
    with pytest.raises(UnknownNameError, match=f"not in .* have it: {FIRST}"):
        recall.load_policy(archived, "point-rich")
    with pytest.raises(UnknownNameError, match="unknown run of this fleet 'nobody'"):
        recall.load_policy(archived, 0, run="nobody")


def test_lost_policies_of_one_run_are_told(folder, tmp_path):
    lost = shutil.copytree(folder, tmp_path / "lost")
    shutil.rmtree(lost / "policies" / FIRST)
    with pytest.raises(BadValueError, match=f"no policies of run {FIRST} yet"):
        recall.load_policy(lost, 0, run=FIRST)
    (lost / "outcome.json").write_text('{"finished": true}')
    with pytest.raises(BadValueError, match=f"its policies of run {FIRST} are missing"):
        recall.load_policy(lost, 0, run=FIRST)


def test_the_runs_are_found_without_run_json(folder, tmp_path):
    bare = shutil.copytree(folder, tmp_path / "bare")
    (bare / "run.json").unlink()
    assert recall.load_policy(bare, 0).run == min((FIRST, OTHER))
    assert recall.load_policy(bare, "point-slide", run=OTHER).run == OTHER
    with pytest.raises(RecallError, match=f"unknown task of run {FIRST}"):
        recall.load_policy(bare, "point-slide", run=FIRST)


def test_a_task_that_was_a_function_says_that_it_is_needed():
    with pytest.raises(UnknownNameError, match=r"the function itself.*recall.make\(my_task\)"):
        recall.make("my_task")
    with pytest.raises(UnknownNameError) as caught:
        recall.make("point-wrong")
    assert "function" not in str(caught.value)
