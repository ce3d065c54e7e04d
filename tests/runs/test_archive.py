"""Archives: small copies of fleets that everything reads as it reads the fleets themselves."""

import json
import lzma
import os
import shutil
import time

import pytest

import recall
from recall.analysis.collection import gather
from recall.analysis.frames import evaluations_frame
from recall.api import run_fleet, start_fleet
from recall.config.stored import spec_from
from recall.errors import BadValueError, RecallError
from recall.files import reading
from recall.files.atomic import hidden_name
from recall.runs import archive
from recall.runs.store import read
from recall.training.callbacks import Callback
from tests.factories.folders import append_training, write_fleet

RECORDS = ("evaluations", "training")


@pytest.fixture
def fleets(tmp_path):
    """A method on a sequence, with the single tasks that it is compared with."""
    write_fleet(tmp_path / "runs" / "a", "recall", "push,hammer")
    write_fleet(tmp_path / "runs" / "b", sequence=[["push"], ["hammer"]])
    return tmp_path / "runs"


def files_of(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def expanded(folder, name):
    return lzma.decompress((folder / f"{name}.jsonl.xz").read_bytes())


def test_records_come_back_line_by_line(finished, tmp_path):
    made = recall.archive(finished, tmp_path / "kept")
    assert (made.fleets, made.runs, made.policies) == (1, 2, 0)
    for name in RECORDS:
        assert expanded(made.folder, name) == (finished / f"{name}.jsonl").read_bytes()
    before, after = read(finished), read(made.folder)
    assert after.evaluations == before.evaluations
    assert after.training == before.training
    assert after.outcome.failed == before.outcome.failed
    assert set(files_of(made.folder)) == {
        "run.json", "outcome.json", "archive.json", "evaluations.jsonl.xz", "training.jsonl.xz",
    }  # fmt: skip
    assert made.size_bytes == sum(map(len, files_of(made.folder).values()))


def test_an_archive_of_the_same_fleet_has_the_same_bytes(finished, tmp_path):
    for name in ("one", "two"):
        recall.archive(finished, tmp_path / name, "*")
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")
    recall.archive(tmp_path / "one", tmp_path / "again", "*")
    assert files_of(tmp_path / "again") == files_of(tmp_path / "one")


def test_a_report_of_the_archive_is_that_of_the_fleets(fleets, tmp_path):
    for name in ("notes.json", "study.json"):
        (fleets / name).write_text("{}")
    recall.archive(fleets, tmp_path / "kept")
    assert [path.name for path in (tmp_path / "kept").glob("*.json")] == ["study.json"]
    reports = {}
    for name in ("runs", "kept"):
        made = recall.make_report(tmp_path / name, tmp_path / f"report-{name}", figures=False)
        assert made.problems == ()
        reports[name] = files_of(made.folder / "tables")
        assert gather(tmp_path / name).references(made.collection.runs[0], "push").runs
    assert reports["runs"] == reports["kept"]
    first, second = (evaluations_frame(gather(tmp_path / name)) for name in ("runs", "kept"))
    assert first.drop(columns="folder").equals(second.drop(columns="folder"))


def test_names_of_machines_and_folders_are_not_archived(tmp_path):
    folder = write_fleet(tmp_path / "run")
    content = json.loads((folder / "run.json").read_text())
    content["machine"] = {"host": "secret", "cores": 2}
    content["command"] = ["/home/me/recall", "train", "--out=/home/me/run", "--seeds", "0"]
    content["plugins"] = ["/home/me/mine.py", "package"]
    (folder / "run.json").write_text(json.dumps(content))
    description = read(recall.archive(folder, tmp_path / "kept").folder).description
    assert description["machine"] == {"cores": 2}
    assert "command" not in description
    assert description["plugins"] == ["mine.py", "package"]
    assert description["digest"] == content["digest"]


def test_an_archive_cannot_be_trained_in(finished, tmp_path):
    recall.archive(finished, tmp_path / "whole")
    half = shutil.copytree(finished, tmp_path / "half")
    (half / "outcome.json").unlink()
    recall.archive(half, tmp_path / "part", unfinished=True)
    spec, part = spec_from(read(finished).description), tmp_path / "part"
    before = files_of(part)
    for train in (
        lambda: recall.resume(tmp_path / "whole"),
        lambda: recall.resume(part),
        lambda: start_fleet(spec, part),
        lambda: run_fleet(spec, part, Callback()),
    ):
        with pytest.raises(RecallError, match="is an archive and cannot be resumed"):
            train()
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
    (bad / "run.json").unlink()
    with pytest.raises(RecallError, match=r"bad one has no run.json"):
        recall.archive(runs, kept)
    shutil.rmtree(bad)
    append_training(write_fleet(runs / "good two", stamped=True), {"run": 0})
    with pytest.raises(RecallError, match=r"training.jsonl is damaged"):
        recall.archive(runs, kept)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all", "runs"]


def test_an_archive_goes_only_to_an_empty_place_outside_its_source(fleets, tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    recall.archive(fleets, kept)
    with pytest.raises(RecallError, match="already exists: remove it"):
        recall.archive(fleets, kept)
    for place in (fleets / "inside", fleets, fleets.parent):
        with pytest.raises(RecallError, match="lie in one another"):
            recall.archive(fleets, place)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "runs"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"policies": "recal-*"}, "unknown run 'recal-\\*'"),
        ({"policies": "*"}, "no such policies of runs \\*"),
        ({"policies_at": "never"}, "unknown time 'never'"),
    ],
)
def test_options_that_select_nothing_are_refused(fleets, tmp_path, options, words):
    with pytest.raises(RecallError, match=words):
        recall.archive(fleets, tmp_path / "kept", **options)
    assert not (tmp_path / "kept").exists()


def test_what_was_just_learned_is_not_evaluated_as_the_end(finished, tmp_path):
    recall.archive(finished, tmp_path / "archive", policies="*", policies_at="learned")
    with pytest.raises(BadValueError, match="archived without final policies"):
        recall.evaluate(tmp_path / "archive", episodes=1)


def test_an_archive_that_is_stopped_leaves_nothing(fleets, tmp_path, monkeypatch):
    write, kept = archive._write_fleet, tmp_path / "all" / "kept"

    def half(*arguments):
        write(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(archive, "_write_fleet", half)
    with pytest.raises(KeyboardInterrupt):
        recall.archive(fleets, kept)
    assert list(kept.parent.iterdir()) == []


def test_records_that_no_reader_would_expand_are_not_archived(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MOST_EXPANDED_BYTES", 1000)
    folder = write_fleet(tmp_path / "run", finished=False)
    line = (folder / "evaluations.jsonl").read_bytes().splitlines(keepends=True)[0]
    (folder / "evaluations.jsonl").write_bytes(line * 10_000)
    with pytest.raises(BadValueError, match="expands to far more than records do"):
        recall.archive(folder, tmp_path / "kept", unfinished=True)
    assert not (tmp_path / "kept").exists()


def hidden_in(folder):
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def make_old(folder):
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (time.time() - 86_400,) * 2)


def test_half_an_archive_is_not_read_and_the_next_removes_it(fleets, tmp_path):
    """Hidden folders of other places and other names stay."""
    everything = tmp_path / "all"
    half = hidden_name(everything / "kept")
    shutil.copytree(fleets / "a", half / "a")  # what a process that was killed has written
    for name in (".kept.mine.new", ".kept.mine.0123abcd.new"):
        (everything / name).mkdir()
        make_old(everything / name)
    others = hidden_in(everything)
    recall.archive(fleets, everything / "kept")
    assert hidden_in(everything) == others, "it may be another process's, which is at work"
    whole, found = gather(fleets), gather(everything)
    assert len(found.runs) == len(whole.runs)
    assert found.problems == whole.problems
    shutil.rmtree(everything / "kept")
    make_old(half)
    recall.archive(fleets, everything / "other")
    assert hidden_in(everything) == others, "it belongs to another place"
    recall.archive(fleets, everything / "kept")
    others.remove(half.name)
    assert hidden_in(everything) == others


@pytest.mark.parametrize("name", [".hidden", "kept.0123abcd.new"])
def test_other_hidden_folders_are_searched(fleets, tmp_path, name):
    fleets.rename(tmp_path / name)
    assert gather(tmp_path).runs
