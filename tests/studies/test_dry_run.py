"""Time estimates from benchmarks, and the sums of a dry run."""

import dataclasses
import json

import pytest

from recall.errors import BadValueError
from recall.studies.dry_run import (
    dry_run,
    estimate_time,
    evaluation_steps,
    read_speeds,
    rows,
    summary,
    updates,
)
from recall.studies.launch.place import Place, Room
from recall.studies.runner import plan_study
from recall.studies.study_folder import note_end, write_study
from tests.factories.studies import begin
from tests.studies.test_plan import CHOICES, ROOM, STUDY

LEARNER = {"method": "recall", "runs": 1, "ms_per_update": 2.0}
FLEET = {"method": "recall", "runs": 1, "transitions_per_s": 60.0, "workers_alone_per_s": 1_000.0}


def speeds_from(folder, *rows):
    path = folder / "bench-some.json"
    path.write_text(json.dumps({"rows": rows}))
    return read_speeds([], folder)


def test_the_time_comes_from_what_was_measured(tmp_path):
    chosen = dataclasses.replace(CHOICES, methods=("lambda=10",))
    (fleet,) = plan_study(STUDY, chosen, tmp_path / "study", ROOM)
    # 2 tasks x 2 evaluations, each of 2 runs x 2 tasks x 2 modes x 1 episode of 50 steps.
    assert evaluation_steps(fleet.spec) == 4 * 2 * 2 * 2 * 50
    # Bursts of 5 after steps 100, 150 and 200 of each task.
    assert updates(fleet.spec) == 2 * 3 * 5
    assert estimate_time(fleet, []) is None
    alone = estimate_time(fleet, speeds_from(tmp_path, LEARNER))
    assert alone.seconds == pytest.approx(30 * 2 * 0.002)
    assert len(alone.notes) == 1, "evaluations and collecting are missing"
    whole = estimate_time(fleet, speeds_from(tmp_path, LEARNER, FLEET))
    assert whole.seconds == pytest.approx(800 / 60 + evaluation_steps(fleet.spec) / 1000)
    assert whole.notes == []
    larger = FLEET | {"runs": 20, "transitions_per_s": 1.0}
    assert estimate_time(fleet, speeds_from(tmp_path, larger, FLEET)) == whole, "the nearest"
    (note,) = estimate_time(fleet, speeds_from(tmp_path, FLEET | {"environments": 2})).notes
    assert "2 environments" in note


@pytest.mark.parametrize(
    "content", ["{}", "[]", '{"rows": [3]}', '{"rows": [{"method": "recall", "runs": "two"}]}']
)
def test_files_that_hold_no_speeds_are_refused(tmp_path, content):
    path = tmp_path / "bench.json"
    path.write_text(content)
    with pytest.raises(BadValueError, match=r"bench\.json .*`recall bench"):
        read_speeds([path], tmp_path)
    with pytest.raises(BadValueError, match=r"nowhere\.json does not exist.* --bench"):
        read_speeds([tmp_path / "nowhere.json"], tmp_path)


def test_the_dry_run_adds_up(tmp_path):
    choices = dataclasses.replace(CHOICES, methods=("lambda=10", "ewc"))
    place = Place(Room(2**30, places=2), "two places", lambda: None, lambda: None)
    preview = dry_run(STUDY, choices, tmp_path, place, speeds_from(tmp_path.parent, FLEET))
    assert preview["runs"] == 4
    assert preview["transitions"] == 4 * 400
    assert preview["seconds"] == max(fleet["seconds"] for fleet in preview["fleets"])
    (note,) = preview["notes"]
    assert note.startswith("ewc was not measured")
    assert [row["state"] for row in rows(preview)] == ["new", "new"]
    assert any("4 runs in 2 fleets, 1,600 transitions" in line for line in summary(preview))
    fleets = plan_study(STUDY, choices, tmp_path, place.room)
    write_study(tmp_path, STUDY, choices, fleets)
    note_end(tmp_path, "lambda=10", 61.0, None)
    begin(fleets[0], tmp_path)
    (tmp_path / "lambda=10" / "outcome.json").write_text('{"finished": true, "failed": {}}')
    again = dry_run(STUDY, choices, tmp_path, place, [])
    assert [(row["state"], row["time"]) for row in rows(again)] == [
        ("finished", "took 0:01:01"),
        ("new", "?"),
    ]
    assert any("2 runs in 1 fleet" in line for line in summary(again))
    assert any("recall bench fleet" in line for line in summary(again))
