"""Archives: small copies of fleets that everything reads as it reads the fleets themselves."""

import json
import lzma
import shutil

import pytest

import recall
from recall.analysis.collection import gather
from recall.analysis.frames import evaluations_frame
from recall.api import run_fleet, start_fleet
from recall.config.stored import spec_from
from recall.errors import BadValueError, RecallError
from recall.report.compare import compare
from recall.runs.archive import portable
from recall.runs.store import read
from recall.training.callbacks import Callback
from tests.factories.folders import append_training, write_fleet
from tests.factories.studies import launch

RECORDS = ("evaluations", "training")


def files_of(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def expanded(folder, name):
    return lzma.decompress((folder / f"{name}.jsonl.xz").read_bytes())


def frequent_steps(folder, run):
    """Steps of a run's training records, without those that are never left out."""
    records = map(json.loads, expanded(folder, "training").splitlines())
    return [each["step"] for each in records if each["run"] == run and "loss_q" in each]


def test_records_come_back_line_by_line(finished, tmp_path):
    made = recall.archive(finished, tmp_path / "kept")
    assert (made.fleets, made.runs, made.policies, made.left_out) == (1, 2, 0, ())
    for name in RECORDS:
        assert expanded(made.folder, name) == (finished / f"{name}.jsonl").read_bytes()
    before, after = read(finished), read(made.folder)
    assert after.evaluations == before.evaluations
    assert after.training == before.training
    assert after.outcome.failed == before.outcome.failed
    assert after.archived.training_every is None
    assert before.archived is None
    assert set(files_of(made.folder)) == {
        "run.json", "outcome.json", "archive.json", "evaluations.jsonl.xz", "training.jsonl.xz",
    }  # fmt: skip
    assert made.size_bytes == sum(map(len, files_of(made.folder).values()))


def test_an_archive_of_the_same_fleet_has_the_same_bytes(finished, tmp_path):
    for name in ("one", "two"):
        recall.archive(finished, tmp_path / name, "*", training_every=200)
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")
    recall.archive(tmp_path / "one", tmp_path / "again", "*")
    assert files_of(tmp_path / "again") == files_of(tmp_path / "one")


def test_a_report_of_the_archive_is_that_of_the_fleets(fleets, tmp_path):
    (fleets / "learner.json").write_text(
        json.dumps(
            {
                "device": "cpu",
                "rows": [{"method": "recall", "runs": 1, "ms_per_update": 2.0}],
            }
        )
    )
    (fleets / "bench-fleet.json").write_text('{"steps": 1}')
    (fleets / "notes.json").write_text("{}")
    recall.archive(fleets, tmp_path / "kept")
    assert sorted(path.name for path in (tmp_path / "kept").glob("*.json")) == [
        "bench-fleet.json",
        "learner.json",
    ]
    reports = {}
    for name in ("runs", "kept"):
        made = recall.make_report(tmp_path / name, tmp_path / f"report-{name}", figures=False)
        assert made.problems == ()
        reports[name] = files_of(made.folder / "tables")
        assert gather(tmp_path / name).references(made.collection.runs[0], "push").runs
    assert reports["runs"] == reports["kept"]
    assert any(name.startswith("updates-cpu") for name in reports["kept"])
    first, second = (evaluations_frame(gather(tmp_path / name)) for name in ("runs", "kept"))
    assert first.drop(columns="folder").equals(second.drop(columns="folder"))
    assert compare(fleets, tmp_path / "kept", tmp_path / "c", figures=False).problems == ()


def test_training_records_are_thinned_and_the_report_says_so(tmp_path):
    folder = write_fleet(tmp_path / "run", "recall", "push,hammer", record_every=250)
    rare = [
        {"run": 0, "step": 250, "health": "collapsed_temperature", "message": "cold"},
        {"run": 1, "step": 1_000, "position": 1, "head_returns": [1.0], "best_head": 0},
        {"run": 0, "step": 750, "dormant_pi": 0.5, "rank_pi": 3},
    ]
    append_training(folder, *rare)
    made = recall.archive(folder, tmp_path / "kept", training_every=600)
    kept = [json.loads(line) for line in expanded(made.folder, "training").splitlines()]
    assert [record for record in kept if "loss_q" not in record] == rare
    # Of 250, 500, ... 2000: the last up to 600, 1200, 1800 and 2400.
    for run in (0, 1):
        assert frequent_steps(made.folder, run) == [500, 1_000, 1_750, 2_000]
    whole = recall.archive(folder, tmp_path / "whole", training_every=500)
    assert frequent_steps(whole.folder, 0) == [500, 1_000, 1_500, 2_000]
    assert expanded(made.folder, "evaluations") == (folder / "evaluations.jsonl").read_bytes()
    note = "the last in every 600 steps is kept"
    assert note in read(made.folder).archived.in_words()
    report = recall.make_report(made.folder, tmp_path / "report")
    assert note in (report.folder / "index.html").read_text()
    noted = [figure.kind for figure in report.figures if note in figure.caption]
    assert noted == ["training", "q_scale"]
    again = recall.archive(made.folder, tmp_path / "again", training_every=300)
    assert read(again.folder).archived.training_every == 600


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        ("recall study cw3 --address head.lab:6379 --seeds 3",
         "recall study cw3 --address ... --seeds 3"),
        ("recall study cw3 --address=ray://head.lab:10001", "recall study cw3 --address=..."),
        ("recall study cw3 --storage s3://key:secret@bucket/me",
         "recall study cw3 --storage ..."),
        ("recall study cw3 --out ../../me/cw3 --config ~/me/small.toml",
         "recall study cw3 --out cw3 --config small.toml"),
        ("recall train --sequence ALE/Pong-v5,push --config results/settings.toml",
         "recall train --sequence ALE/Pong-v5,push --config results/settings.toml"),
    ],
)  # fmt: skip
def test_commands_are_archived_without_addresses_and_folders_of_others(command, kept):
    assert portable({"command": command.split()})["command"] == kept.split()


def test_names_of_machines_and_folders_are_not_archived(tmp_path):
    folder = write_fleet(tmp_path / "run")
    content = json.loads((folder / "run.json").read_text())
    content["machine"] = {"host": "secret", "cores": 2}
    content["command"] = ["/home/me/recall", "train", "--out=/home/me/run", "--seeds", "0"]
    (folder / "run.json").write_text(json.dumps(content))
    description = read(recall.archive(folder, tmp_path / "kept").folder).description
    assert description["machine"] == {"cores": 2}
    assert description["command"] == ["recall", "train", "--out=run", "--seeds", "0"]
    assert description["digest"] == content["digest"]


@pytest.mark.slow
def test_a_study_keeps_its_times(tmp_path):
    launch(tmp_path / "study")
    made = recall.archive(tmp_path / "study", tmp_path / "kept", training_every=1_000)
    assert (made.folder / "study.json").read_bytes() == (
        tmp_path / "study" / "study.json"
    ).read_bytes()
    times = [run.seconds for run in gather(made.folder).runs]
    assert times == [run.seconds for run in gather(tmp_path / "study").runs]
    assert all(times)
    assert not (made.folder / "logs").exists()


def test_an_archive_cannot_be_trained_in(finished, tmp_path):
    recall.archive(finished, tmp_path / "whole")
    half = shutil.copytree(finished, tmp_path / "half")
    (half / "outcome.json").unlink()
    recall.archive(half, tmp_path / "part", unfinished=True)
    for name in ("whole", "part"):
        before = files_of(tmp_path / name)
        with pytest.raises(RecallError, match="is an archive and cannot be resumed"):
            recall.resume(tmp_path / name, callback=Callback())
        assert files_of(tmp_path / name) == before
    part = tmp_path / "part"
    before = files_of(part)
    spec = spec_from(read(finished).description)
    for train in (start_fleet, run_fleet):
        with pytest.raises(RecallError, match="is an archive and cannot be resumed"):
            train(spec, part, Callback())
    assert {name: files_of(part)[name] for name in before} == before


def test_a_finished_archive_counts_as_trained(finished, tmp_path):
    made = recall.archive(finished, tmp_path / "kept")
    results = run_fleet(spec_from(read(finished).description), made.folder, Callback())
    assert results.evaluations == read(finished).evaluations


def test_unfinished_and_damaged_fleets_are_refused_and_nothing_is_written(tmp_path):
    runs, kept = tmp_path / "runs", tmp_path / "kept"
    write_fleet(runs / "good")
    bad = write_fleet(runs / "bad one", finished=False)
    with pytest.raises(RecallError, match="is unfinished: finish it with `recall resume '/"):
        recall.archive(runs, kept)
    assert not read(
        recall.archive(runs, tmp_path / "all", unfinished=True).folder / "bad one"
    ).outcome
    append_training(bad, {"run": 0})
    with (bad / "training.jsonl").open("a") as file:
        file.write("no record\n")
    with pytest.raises(RecallError, match=r"line 18 of .*training.jsonl cannot be read"):
        recall.archive(runs, kept, unfinished=True)
    (bad / "run.json").unlink()
    with pytest.raises(RecallError, match=r"bad one has no run.json"):
        recall.archive(runs, kept)
    shutil.rmtree(bad)
    append_training(write_fleet(runs / "good two", stamped=True), {"run": 0})
    with pytest.raises(RecallError, match=r"training.jsonl is damaged"):
        recall.archive(runs, kept)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all", "runs"]


def test_an_archive_is_replaced_only_if_asked_and_only_an_archive(fleets, tmp_path):
    kept = tmp_path / "kept"
    recall.archive(fleets, kept)
    with pytest.raises(RecallError, match="already holds an archive"):
        recall.archive(fleets, kept)
    before = files_of(kept)
    shutil.rmtree(fleets / "b")
    recall.archive(fleets, kept, replace=True)
    assert files_of(kept) == {name: data for name, data in before.items() if name[0] == "a"}
    (kept / "a" / "films").mkdir()
    (kept / "a" / "films" / "mine.gif").write_text("film")
    with pytest.raises(RecallError, match=r"mine.gif is no part of an archive"):
        recall.archive(fleets, kept, replace=True)
    for place in (fleets / "inside", fleets, fleets.parent):
        with pytest.raises(RecallError, match="lie in one another"):
            recall.archive(fleets, place, replace=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "runs"]


def test_a_link_to_an_archive_stays_a_link_when_it_is_replaced(fleets, tmp_path):
    recall.archive(fleets, tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    recall.archive(fleets, tmp_path / "link", replace=True)
    assert (tmp_path / "link").is_symlink()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_paths_of_plugins_are_not_archived():
    assert portable({"plugins": ["/home/me/mine.py", "package"]})["plugins"] == [
        "mine.py",
        "package",
    ]


def test_what_was_just_learned_is_not_evaluated_as_the_end(finished, tmp_path):
    recall.archive(finished, tmp_path / "archive", policies="*", policies_at="learned")
    with pytest.raises(BadValueError, match="archived without final policies"):
        recall.evaluate(tmp_path / "archive", episodes=1)
