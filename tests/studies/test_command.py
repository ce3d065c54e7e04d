"""`recall study` as it is typed."""

import json
from dataclasses import replace

import pytest

from recall.cli import main
from recall.commands.study import StudyOptions
from recall.studies import STUDIES
from recall.studies.runner import plan_study
from recall.studies.selection import groups_of
from recall.studies.study_folder import note_end, write_study
from tests.factories.studies import CHOICES, FLEETS, ROOM, SEQUENCE, SMALL, STUDY, begin


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("cw3 --address 10.0.0.1:6379", "need --launcher ray"),
        ("cw3 --fleets-at-once 0", "--fleets-at-once is 0"),
        ("cw3 --launcher ray --address 127.0.0.1:1", "no Ray cluster answers at 127.0.0.1:1"),
        ("cw3 --out /dev/null/study", "/dev/null/study is not writable"),
        ("cw3 --shard 3/2", "shard '3/2': give i/n"),
        ("cw20 --memory 0.5", "one run of perfect_memory on 20 tasks needs 3."),
        ("cw3 --set learning_rate", "give NAME=VALUE"),
        ("cw3 --set bach_size=1", "did you mean 'batch_size'"),
        ("cw3 --set sequence=cw3-1", "--sequences"),
        ("lambda --set distillation_weight=3", "study lambda sets distillation_weight itself"),
        ("cw3 --set distillation_weight=3", "fine_tuning does not have it"),
        ("cw3 --config mine.toml", "seeds in mine.toml: use --methods, --sequences, --seeds"),
    ],
)
def test_what_cannot_be_run_is_one_line_and_code_2_and_leaves_nothing(
    arguments, words, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text("seeds = [3]")
    with pytest.raises(SystemExit) as left:
        main(["study", *arguments.split()])
    error = capsys.readouterr().err
    assert left.value.code == 2
    assert error.startswith("recall: ")
    assert words in error
    assert error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


def test_set_overrides_the_file_and_means_what_it_means_elsewhere(tmp_path):
    config = tmp_path / "mine.toml"
    config.write_text('preset = "laptop"\nupdate_after = 100\nlearning_rate = 0.1')
    given = ("learning-rate=3e-4", "hidden=64", "head_layers=1", "distil=false")
    options = StudyOptions("cw3", config=config, methods=("recall",), set=given)
    choices = options.choices(STUDIES["cw3"])
    assert choices.preset == "laptop"
    assert replace(options, preset="paper").choices(STUDIES["cw3"]).preset == "paper"
    (group,) = groups_of(STUDIES["cw3"], choices)
    settings = group.spec.settings
    assert settings.learner.sac.learning_rate == 3e-4
    assert settings.learner.network.hidden == (64,)
    assert settings.schedule.update_after == 100
    assert group.spec.method.distil is False


def test_a_dry_run_shows_every_fleet_and_sums_up_what_is_left(tmp_path, capsys):
    config, folder = tmp_path / "small.json", tmp_path / "study"
    config.write_text(json.dumps(SMALL))
    options = ["--sequences", SEQUENCE, "--methods", "fine_tuning", "--seeds", "2", "--dry-run"]
    options += ["--config", str(config), "--out", str(folder), "--runs-per-fleet", "1"]

    def shown():
        main(["study", "cw3", *options])
        lines = capsys.readouterr()
        header, *rows = (line.split("\t") for line in lines.out.splitlines())
        return [dict(zip(header, row, strict=True)) for row in rows], lines.err

    rows, summary = shown()
    assert [(row["fleet"], row["state"]) for row in rows] == [(name, "new") for name in FLEETS]
    assert "2 runs in 2 fleets, 800 transitions" in summary
    assert not folder.exists()
    folder.mkdir()
    choices = replace(CHOICES, changes=json.loads(json.dumps(SMALL)))
    fleets = plan_study(STUDY, choices, folder, ROOM)
    write_study(folder, STUDY, choices, fleets)
    note_end(folder, FLEETS[0], 61.0, None)
    begin(fleets[0], folder)
    (folder / FLEETS[0] / "outcome.json").write_text('{"finished": true, "failed": {}}')
    rows, summary = shown()
    told = [(row["runs"], row["transitions"], row["state"], row["took"]) for row in rows]
    assert told == [("1", "400", "finished", "0:01:01"), ("1", "400", "new", "")]
    assert all(row["memory"] for row in rows)
    assert "1 run in 1 fleet, 400 transitions" in summary
