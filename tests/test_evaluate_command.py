"""What `recall evaluate` prints, and the tasks that it is asked for."""

import json
import shutil

import numpy as np
import pytest

import recall
from recall.cli import main
from recall.errors import BadValueError, UnknownNameError
from tests.factories.policies import write_untrained


def test_repeated_tasks_are_numbered_where_results_are_printed_and_chosen(tmp_path, capsys):
    folder = write_untrained(tmp_path / "fleet", "point-rich,point-poor,point-rich")

    def printed(*options):
        main(["evaluate", str(folder), "--episodes", "1", "--workers", "1", *options])
        header, *rows = (line.split("\t") for line in capsys.readouterr().out.splitlines())
        assert header == ["run", "task", "mode", "episodes", "success", "last_success", "return"]
        return list(dict.fromkeys(row[1] for row in rows))

    assert printed() == ["1 point-rich", "point-poor", "3 point-rich"]
    assert printed("--task", "3 point-rich") == ["3 point-rich"]
    with pytest.raises(UnknownNameError, match="Valid: 1 point-rich, 3 point-rich, point-poor"):
        recall.evaluate(folder, 1, "2 point-rich", workers=1)


@pytest.mark.parametrize(
    ("named", "positions"),
    [
        (2, [2]),
        ("point-rich", [0, 2]),
        (["1 point-rich", "point-poor"], [0, 1]),
    ],
)
def test_a_task_is_chosen_by_what_is_printed_of_it_its_name_or_its_position(
    tmp_path, named, positions
):
    folder = write_untrained(tmp_path / "fleet", "point-rich,point-poor,point-rich")
    records = recall.evaluate(folder, 1, named, workers=1)
    assert list(dict.fromkeys(record["position"] for record in records)) == positions


def test_success_that_is_not_reported_is_a_dash(tmp_path, capsys):
    folder = write_untrained(tmp_path / "fleet", "point-rich,point-poor")
    description = json.loads((folder / "run.json").read_text())
    description["without_success"] = ["point-rich"]
    (folder / "run.json").write_text(json.dumps(description))
    main(["evaluate", str(folder), "--episodes", "1", "--workers", "1"])
    header, *rows = (line.split("\t") for line in capsys.readouterr().out.splitlines())
    shown = [dict(zip(header, row, strict=True)) for row in rows]
    assert [row["task"] for row in shown] == ["point-rich"] * 2 + ["point-poor"] * 2
    told = [(row["success"], row["last_success"]) for row in shown]
    assert told == [("-", "-")] * 2 + [("0", "0")] * 2
    assert all(np.isfinite(float(row["return"])) for row in shown)
    main(["evaluate", str(folder), "--episodes", "1", "--workers", "1", "--json"])
    assert [row["success"] for row in json.loads(capsys.readouterr().out)] == [None, None, 0.0, 0.0]


def test_a_success_in_the_records_shows_that_a_task_reports_it(tmp_path, capsys):
    folder = write_untrained(tmp_path / "fleet", "point-rich,point-poor")
    description = json.loads((folder / "run.json").read_text())
    description["without_success"] = ["point-rich", "point-poor"]
    (folder / "run.json").write_text(json.dumps(description))
    records = [
        {"run": 0, "step": 300, "position": position, "task": task, "mode": "stochastic"}
        | {"episodes": 1, "success": 1.0 - position, "last_success": 0.0, "return": 0.0}
        for position, task in enumerate(description["without_success"])
    ]
    (folder / "evaluations.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    main(["evaluate", str(folder), "--episodes", "1", "--workers", "1", "--json"])
    assert [row["success"] for row in json.loads(capsys.readouterr().out)] == [0.0, 0.0, None, None]


@pytest.mark.parametrize(
    ("task", "criteria"), [("point-rich", set()), ("hammer", {"success_v1", "success_v2"})]
)
def test_a_record_has_every_criterion_of_its_world(tmp_path, task, criteria):
    folder = write_untrained(tmp_path / "fleet", task, horizon_steps=2)
    for record in recall.evaluate(folder, 1, workers=1):
        assert {name for name in record if name.startswith("success_")} == criteria
        assert all(record[name] == 0.0 for name in criteria)


def test_a_seed_gives_other_episodes_and_the_same_ones_again(tmp_path):
    folder = write_untrained(tmp_path / "fleet", "point-rich", seeds=(0, 1))
    returns = {
        seed: [record["return"] for record in recall.evaluate(folder, 2, workers=1, seed=seed)]
        for seed in (None, 0, 1)
    }
    assert returns[None] != returns[0] != returns[1]
    assert returns[0] == [each["return"] for each in recall.evaluate(folder, 2, workers=2, seed=0)]
    with pytest.raises(BadValueError, match="seed is -1"):
        recall.evaluate(folder, 1, seed=-1)


@pytest.mark.parametrize(
    ("left_out", "told"),
    [
        (0, ""),
        (1, "1 of 6 runs was archived without policies: seed0\n"),
        (5, "5 of 6 runs were archived without policies: seed0, seed1, seed2 and 2 more\n"),
    ],
)
def test_runs_that_were_archived_without_policies_are_named(tmp_path, capsys, left_out, told):
    folder = write_untrained(tmp_path / "fleet", "point-rich", seeds=range(6))
    (folder / "archive.json").write_text("{}")
    for seed in range(left_out):
        shutil.rmtree(folder / "policies" / f"fine_tuning-point-rich-seed{seed}")
    main(["evaluate", str(folder), "--episodes", "1", "--workers", "1", "--json"])
    shown = capsys.readouterr()
    assert shown.err.replace("fine_tuning-point-rich-", "") == told
    kept = [f"fine_tuning-point-rich-seed{seed}" for seed in range(left_out, 6)]
    assert list(dict.fromkeys(row["run"] for row in json.loads(shown.out))) == kept
