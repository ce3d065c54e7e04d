"""Runs gathered from folders: the good ones whole, the bad ones told of."""

import json
import shutil

import numpy as np
import pytest

from recall.analysis.collection import gather, unequal_lengths
from recall.analysis.frames import analyse, list_of, matrix
from tests.factories.folders import EVERY, STEPS, append_training, learns_each_task, write_fleet


def told(collection, *words) -> bool:
    """Whether one problem says all of the words."""
    return any(all(word in problem for word in words) for problem in collection.problems)


def test_a_fleet_is_read_whole(tmp_path):
    write_fleet(tmp_path / "a", "recall", ["push,hammer", "hammer,push"], seeds=(3, 5))
    found = gather(tmp_path)
    assert not found.problems
    assert [(run.sequence, run.seed) for run in found.runs] == [
        ("hammer,push", 3), ("hammer,push", 5), ("push,hammer", 3), ("push,hammer", 5)
    ]  # fmt: skip
    run = found.runs[2]
    assert (run.label, run.method, run.tasks) == ("RECALL", "recall", ("push", "hammer"))
    assert run.folder == tmp_path / "a"
    assert run.complete
    assert run.steps.tolist() == list(range(EVERY, 2 * STEPS + 1, EVERY))
    expected = [[learns_each_task(3, task, step) for task in (0, 1)] for step in run.steps]
    assert run.curves["deterministic", "success"] == pytest.approx(np.array(expected))
    assert run.curves["stochastic", "return"][0].tolist() == [0.0, 10.0]
    assert run.settings["schedule.steps_per_task"] == STEPS
    assert run.description["command"] == ["recall", "train"]


def test_training_records_are_read_as_columns_and_health_warnings_apart(tmp_path):
    folder = write_fleet(tmp_path / "a", "recall", seeds=(0, 1), finished=False)
    scored = {"run": 1, "step": STEPS, "position": 1, "head_returns": [4.0], "best_head": 0}
    warning = {"run": 1, "step": STEPS, "position": 1, "health": "odd", "message": "it is odd"}
    odd = {"run": 1, "step": "x", "health": 3}
    dormant = {"run": 1, "step": 2 * STEPS + 1, "dormant": 0.5}
    append_training(folder, scored, warning, odd, dormant)
    with (folder / "training.jsonl").open("a") as file:
        file.write(json.dumps(warning))  # cut short by a crash
    first, second = gather(folder).runs
    assert (first.warnings, second.warnings) == ((), (warning,))
    assert first.training["loss_q"].tolist() == first.training["step"].tolist()
    assert second.training.keys() == {"step", "loss_q", "q_value", "dormant"}
    assert second.training["q_value"][0] == pytest.approx([1.0, np.nan], nan_ok=True)
    assert second.training["dormant"] == pytest.approx([np.nan] * 8 + [0.5], nan_ok=True)
    assert np.isnan(second.training["loss_q"][-1])


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("lock", "", ("bad", "no run.json", "left out")),
        ("run.json", '{"schema": 1, "runs": [', ("not valid JSON",)),
        ("run.json", '{"schema": 99}', ("schema 99", "left out")),
        ("run.json", '{"schema": 1}', ("`runs`", "left out")),
        ("run.json", "[]", ("damaged or edited", "left out")),
        ("run.json", '{"schema": 1, "runs": []}', ("$.runs", "left out")),
        ("progress.tsv", "", ("config.json", "left out")),
    ],
)
def test_a_bad_folder_is_told_and_the_rest_is_there(tmp_path, name, content, words):
    write_fleet(tmp_path / "good")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / name).write_text(content)
    found = gather(tmp_path)
    assert len(found.runs) == 2
    assert len(found.problems) == 1
    assert told(found, *words)


def test_links_are_followed_and_lead_in_no_circle(tmp_path):
    write_fleet(tmp_path / "elsewhere" / "fleet")
    runs = tmp_path / "runs"
    runs.mkdir()
    (runs / "linked").symlink_to(tmp_path / "elsewhere")
    (runs / "back").symlink_to(runs)
    found = gather([tmp_path, runs, tmp_path / "elsewhere" / "fleet"])  # at any depth, once
    assert len(found.runs) == 2
    assert found.problems == ()


def test_folders_without_runs_are_told(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "nothing").mkdir()
    (tmp_path / "nothing" / "notes.txt").write_text("")
    found = gather([tmp_path / "missing", tmp_path / "file", tmp_path / "nothing"])
    assert not found.runs
    assert told(found, "missing cannot be read")
    assert told(found, "file cannot be read")
    assert told(found, "nothing holds no runs", "run.json", "progress.tsv")


def test_an_unfinished_fleet_is_in_the_curves_and_not_in_the_tables(tmp_path):
    folder = write_fleet(tmp_path / "a", finished=False, until=STEPS + EVERY)
    with (folder / "evaluations.jsonl").open("a") as file:
        file.write('{"run": 0, "step": 1500, "posi')
    found = gather(folder)
    assert [len(run.steps) for run in found.runs] == [5, 5]
    assert told(found, "unfinished", "step 1,250 of 2,000", "left out", "recall resume")
    assert analyse(found).scores.empty
    (folder / "archive.json").write_text("{}")
    assert told(gather(folder), "unfinished")
    assert not told(gather(folder), "recall resume")
    (folder / "evaluations.jsonl").write_text("")
    assert told(gather(folder), "no evaluations yet", "left out")


def test_sequences_of_one_name_and_other_tasks_or_lengths_are_told(tmp_path):
    for method, steps in (("recall", STEPS), ("fine_tuning", 2 * STEPS)):
        write_fleet(tmp_path / method, method, ["push,hammer", "hammer,push"], steps_per_task=steps)
    write_fleet(tmp_path / "alone", sequence="push", steps_per_task=3 * STEPS)
    (problem,) = unequal_lengths(gather(tmp_path).runs)
    assert problem.startswith("hammer,push, push,hammer: there are runs of 1,000 and 2,000 steps")
    described = write_fleet(tmp_path / "z", "ewc", "push,hammer") / "run.json"
    described.write_text(described.read_text().replace('"push",', '"stick-pull",'))
    found = gather(tmp_path)
    assert told(found, "push,hammer is push, hammer in", "stick-pull", "z: the runs", "left out")
    assert "EWC" not in found.labels


def test_a_failed_run_is_told_and_its_peers_are_scored(tmp_path):
    failed = {"fine_tuning-push,hammer-seed1": 1_100}
    found = gather(write_fleet(tmp_path / "a", failed=failed))
    assert told(found, "seed1", "failed at step 1,100", "left out of the tables")
    assert list_of(analyse(found).scores, "seed") == [0]


def test_numbers_that_are_none_are_told_and_left_out_of_means(tmp_path):
    def holed(seed, position, step):
        return None if (seed, position, step) == (1, 0, 2 * STEPS) else 0.8

    found = gather(write_fleet(tmp_path / "a", success=holed))
    assert told(found, "seed1", "2 recorded values without a number")
    assert matrix(analyse(found).scores, "final") == pytest.approx(np.full((2, 2), 0.8))
    gone = write_fleet(tmp_path / "b", success=lambda seed, *_: None if seed else 0.8)
    assert list_of(analyse(gather(gone)).scores, "seed") == [0]


def test_lines_that_cannot_be_used_are_counted(tmp_path):
    folder = write_fleet(tmp_path / "a")
    records = folder / "evaluations.jsonl"
    lines = records.read_text().splitlines()
    lines[3] = "}{"
    odd = ({"run": 7}, {"step": "x"}, {"task": "reach"}, {"success": 1.5}, {"return": 10**400})
    lines += [json.dumps(json.loads(lines[0]) | other) for other in odd]
    records.write_text("\n".join([*lines, "[1]"]) + "\n")
    training = folder / "training.jsonl"
    huge = '"loss_q": 1' + 400 * "0"
    training.write_text(training.read_text().replace('"loss_q": 250.0', huge, 1))
    found = gather(folder)
    run = found.runs[0]
    assert told(found, "7 lines cannot be used")
    assert np.isnan(run.curves["deterministic", "success"][0, 1])
    assert run.curves["stochastic", "success"][0, 1] == 0.0
    assert len(run.training["loss_q"]) == 7
    assert "1 line cannot be used" in run.training_problem


def test_a_copy_is_left_out_and_the_longer_one_kept(tmp_path):
    write_fleet(tmp_path / "short", until=STEPS, finished=False)
    folder = write_fleet(tmp_path / "whole", workers=3)
    shutil.copytree(folder, tmp_path / "copy")
    found = gather(tmp_path)
    assert [len(run.steps) for run in found.runs] == [8, 8]
    assert told(found, "the one in", "short is left out")


def test_references_are_single_tasks_that_are_long_enough_and_of_the_same_world(tmp_path):
    write_fleet(tmp_path / "a", "recall", "push,hammer")
    write_fleet(tmp_path / "shorter", sequence="push", steps_per_task=STEPS // 2)
    write_fleet(tmp_path / "easier", sequence="push", reward="v2")
    write_fleet(tmp_path / "other", "recall", "push")
    write_fleet(tmp_path / "unfinished", sequence="push", finished=False, seeds=(8,))
    run = gather(tmp_path / "a").runs[0]
    none = gather(tmp_path).references(run, "push")
    assert not none.runs
    assert [reason.split(" has ")[1] for reason in none.refused] == [
        "500 steps per task and not 1,000 steps per task",
        "reward v2 and not reward v1",
    ]
    write_fleet(tmp_path / "single" / "push", sequence=[["push"], ["hammer"]], seeds=(6, 7))
    for found in (gather(tmp_path), gather(tmp_path / "a", [tmp_path / "single"])):
        assert [other.seed for other in found.references(run, "push").runs] == [6, 7]
        assert found.by_sequence()["push,hammer"].references(run, "hammer").runs
    assert len(found.runs) == 2


def test_an_edited_description_is_a_problem(tmp_path):
    path = write_fleet(tmp_path / "fleet", "recall", "push,hammer") / "run.json"
    assert gather(tmp_path).problems == ()
    content = json.loads(path.read_text())
    content["settings"]["learner"]["sac"]["learning_rate"] = 0.5
    path.write_text(json.dumps(content))
    (problem,) = gather(tmp_path).problems
    assert problem.startswith(f"{path} was edited after the fleet was started: its runs are shown")
