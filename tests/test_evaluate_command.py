"""What `recall evaluate` prints, and the tasks that it is asked for."""

import json
import shutil

import numpy as np
import pytest

import recall
from recall.cli import main
from recall.errors import BadValueError, UnknownNameError
from tests.factories.policies import write_untrained


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    folder = tmp_path_factory.mktemp("untrained") / "fleet"
    return write_untrained(folder, "point-rich,point-poor,point-rich", seeds=(0, 1))


def evaluate(folder, *options):
    main(["evaluate", str(folder), "--episodes", "1", "--workers", "1", *options])


def test_repeated_tasks_are_numbered_where_results_are_printed_and_chosen(fleet, capsys):
    def printed(*options):
        evaluate(fleet, *options)
        header, *rows = (line.split("\t") for line in capsys.readouterr().out.splitlines())
        assert header == ["run", "task", "mode", "episodes", "success", "last_success", "return"]
        return list(dict.fromkeys(row[1] for row in rows))

    assert printed() == ["1 point-rich", "point-poor", "3 point-rich"]
    assert printed("--task", "3 point-rich") == ["3 point-rich"]
    with pytest.raises(UnknownNameError, match="Valid: 1 point-rich, 3 point-rich, point-poor"):
        recall.evaluate(fleet, 1, "2 point-rich", workers=1)
    for named, positions in ((2, [2]), (["1 point-rich", "point-poor"], [0, 1])):
        records = recall.evaluate(fleet, 1, named, workers=1)
        assert list(dict.fromkeys(record["position"] for record in records)) == positions
        assert not any(name.startswith("success_") for record in records for name in record)


def test_success_that_was_never_reported_is_a_dash(fleet, tmp_path, capsys):
    """A success in the records shows that its task reports it."""
    folder = shutil.copytree(fleet, tmp_path / "fleet")
    description = json.loads((folder / "run.json").read_text())
    description["without_success"] = ["point-rich", "point-poor"]
    (folder / "run.json").write_text(json.dumps(description))
    records = [
        {"run": 0, "step": 300, "position": position, "task": task, "mode": "stochastic"}
        | {"episodes": 1, "success": float(position), "last_success": 0.0, "return": 0.0}
        for position, task in enumerate(description["without_success"])
    ]
    (folder / "evaluations.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    evaluate(folder)
    header, *rows = (line.split("\t") for line in capsys.readouterr().out.splitlines())
    for row in (dict(zip(header, row, strict=True)) for row in rows):
        assert (row["success"] == "-") == ("point-rich" in row["task"])
        assert np.isfinite(float(row["return"]))
    evaluate(folder, "--json")
    successes = {row["task"]: row["success"] for row in json.loads(capsys.readouterr().out)}
    assert successes["point-rich"] is None
    assert successes["point-poor"] is not None


def test_a_record_has_every_criterion_of_its_world(tmp_path):
    folder = write_untrained(tmp_path / "fleet", "hammer", horizon_steps=2)
    for record in recall.evaluate(folder, 1, workers=1):
        criteria = {name: record[name] for name in record if name.startswith("success_")}
        assert criteria == {"success_v1": 0.0, "success_v2": 0.0}


def test_a_seed_gives_other_episodes_and_the_same_ones_again(fleet):
    def returns(seed, workers=1):
        records = recall.evaluate(fleet, 1, "point-poor", workers=workers, seed=seed)
        return [record["return"] for record in records]

    assert returns(None) != returns(0) != returns(1)
    assert returns(0) == returns(0, workers=2)
    with pytest.raises(BadValueError, match="seed is -1"):
        recall.evaluate(fleet, 1, seed=-1)


def test_runs_that_were_archived_without_policies_are_named(tmp_path, capsys):
    folder = write_untrained(tmp_path / "fleet", "point-rich", seeds=range(6))
    (folder / "archive.json").write_text("{}")
    for seed in range(5):
        shutil.rmtree(folder / "policies" / f"fine_tuning-point-rich-seed{seed}")
    evaluate(folder, "--json")
    shown = capsys.readouterr()
    told = "5 of 6 runs archived without policies: seed0, seed1, seed2 and 2 more\n"
    assert shown.err.replace("fine_tuning-point-rich-", "") == told
    assert {row["run"] for row in json.loads(shown.out)} == {"fine_tuning-point-rich-seed5"}
