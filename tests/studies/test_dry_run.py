"""The sums of a dry run."""

import dataclasses

from recall.studies.dry_run import dry_run, rows, summary
from recall.studies.launch.place import Place, Room
from recall.studies.runner import plan_study
from recall.studies.study_folder import note_end, write_study
from tests.factories.studies import begin
from tests.studies.test_plan import CHOICES, STUDY


def test_the_dry_run_adds_up(tmp_path):
    choices = dataclasses.replace(CHOICES, methods=("lambda=10", "ewc"))
    place = Place(Room(2**30, places=2), "two places", lambda: None, lambda: None)
    preview = dry_run(STUDY, choices, tmp_path, place)
    assert preview["runs"] == 4
    assert preview["transitions"] == 4 * 400
    assert [row["state"] for row in rows(preview)] == ["new", "new"]
    assert any("4 runs in 2 fleets, 1,600 transitions" in line for line in summary(preview))
    fleets = plan_study(STUDY, choices, tmp_path, place.room)
    write_study(tmp_path, STUDY, choices, fleets)
    note_end(tmp_path, "lambda=10", 61.0, None)
    begin(fleets[0], tmp_path)
    (tmp_path / "lambda=10" / "outcome.json").write_text('{"finished": true, "failed": {}}')
    again = dry_run(STUDY, choices, tmp_path, place)
    assert [(row["state"], row["took"]) for row in rows(again)] == [
        ("finished", "0:01:01"),
        ("new", ""),
    ]
    assert any("2 runs in 1 fleet" in line for line in summary(again))
