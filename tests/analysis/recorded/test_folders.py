"""The folder `results` and the records shipped with the package: whole, small and usable."""

import json
import tomllib

import numpy as np
import pytest

import recall
from recall.analysis import shipped_references
from recall.analysis.departures import departures
from tests.analysis.recorded.pages import METHODS, ROOT, SEQUENCES, value

MEGABYTE = 1_000_000


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("cw3", 144),
        ("cw3-1m", 8),
        ("cw10", 12),
        ("cw10-three", 3),
        ("ablation", 24),
        ("ablation-three", 6),
        ("cw3-white", 24),
        ("learning-250k", 62),
        ("pairs", 100),
    ],
)
def test_every_run_is_complete_and_readable(boards, name, runs):
    collection = boards[name].collection
    assert len(collection.runs) == runs
    assert all(run.complete for run in collection.runs)
    assert not collection.problems


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("cw3", ["clonex-cw3-2-seed1"]),
        ("cw3-1m", []),
        ("cw10", ["clonex-cw10-seed1"]),
        ("cw10-three", []),
        ("cw3-white", []),
    ],
)
def test_the_runs_with_health_warnings_are_known(boards, name, runs):
    assert [run.name for run in boards[name].collection.runs if run.warnings] == runs


@pytest.mark.parametrize(("one", "other", "tasks"), [(3, 6, 1), (5, 8, 2)])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", list(METHODS))
def test_runs_that_begin_with_the_same_tasks_are_equal_in_them(
    boards, method, seed, one, other, tasks
):
    runs = {run.name: run.training for run in boards["cw3"].collection.runs}
    first, second = (runs[f"{method}-cw3-{number}-seed{seed}"] for number in (one, other))
    rows = first["step"] < 300_000 * tasks  # the last record may belong to the next task's start
    assert np.count_nonzero(rows) >= 29 * tasks
    for column in first:
        np.testing.assert_array_equal(first[column][rows], second[column][rows])
    successes = {run.name: run.curve() for run in boards["cw3"].collection.runs}
    one_curve, other_curve = (
        successes[f"{method}-cw3-{number}-seed{seed}"] for number in (one, other)
    )
    same = one_curve.steps <= 300_000 * tasks
    assert np.count_nonzero(same) == 10 * tasks
    np.testing.assert_array_equal(
        one_curve.success[same, :tasks], other_curve.success[same, :tasks]
    )


def test_the_settings_file_holds_what_the_runs_have_beside_their_preset(boards):
    """A study scales intervals and PackNet's retraining; the others stand as they are.

    Methods other than RECALL kept no average then, which TOML cannot hold.
    """
    file = tomllib.loads((ROOT / "results" / "settings.toml").read_text())
    scaled = {"steps_per_task", "evaluate_every", "record_every", "retraining_updates"}
    removed = {"scoring_episodes", "random_steps_after_copy"}
    for run in boards["cw3"].collection.runs:
        if run.seed == 0 and run.sequence == "cw3-1":
            apart = departures(run.method, run.settings, run.preset)
            found = {name.split(".")[-1]: value for name, value in apart.items()}
            for name in set(found) - scaled - removed - {"average_actor"}:
                assert file[name] == found[name]


def test_the_readme_of_the_shipped_runs_names_their_commit():
    (run,) = shipped_references.FOLDER.glob("*/*/run.json")
    commit = json.loads(run.read_text())["git"]["commit"]
    assert f"commit {commit[:7]} |" in (shipped_references.FOLDER / "README.md").read_text()


def test_forward_transfer_needs_no_folder_but_the_package(boards):
    for number in SEQUENCES:
        assert np.isfinite(value(boards["cw3"], "RECALL", number, "forward_transfer"))
    references = shipped_references.shipped_references()
    assert {run.seed for run in references} == {0, 1, 2}
    assert len({run.tasks for run in references}) == 10


def test_the_records_are_small():
    files = [path for path in (ROOT / "results").rglob("*") if path.is_file()]
    policies = sum(path.stat().st_size for path in files if "policies" in path.parts)
    assert policies <= 10 * MEGABYTE
    assert sum(path.stat().st_size for path in files) - policies <= 10 * MEGABYTE


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_a_policy_of_every_sequence_can_be_loaded(sequence):
    folder, run = ROOT / "results" / "cw3" / "recall", f"recall-cw3-{sequence}-seed0"
    for task in range(3):
        policy = recall.load_policy(folder, task=task, run=run)
        assert policy.act(np.zeros(12), deterministic=True).shape == (4,)
