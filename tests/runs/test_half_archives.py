"""What is left of an archive that was stopped or killed is not read, and is removed in time."""

import os
import shutil
import time

import pytest

from recall.analysis.collection import gather
from recall.files.atomic import hidden_name
from recall.runs import archive


def hidden_in(folder):
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def make_old(folder):
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (time.time() - 86_400,) * 2)


def test_an_archive_that_is_stopped_leaves_nothing(fleets, tmp_path, monkeypatch):
    write, kept = archive._write_fleet, tmp_path / "all" / "kept"

    def half(*arguments):
        write(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(archive, "_write_fleet", half)
    with pytest.raises(KeyboardInterrupt):
        archive.archive(fleets, kept)
    assert list(kept.parent.iterdir()) == []


def test_half_an_archive_is_not_read_and_the_next_removes_it(fleets, tmp_path):
    """Hidden folders of other places and other names stay."""
    everything = tmp_path / "all"
    half = hidden_name(everything / "kept")
    shutil.copytree(fleets / "a", half / "a")  # what a process that was killed has written
    for name in (".kept.mine.new", ".kept.mine.0123abcd.new"):
        (everything / name).mkdir()
        make_old(everything / name)
    others = hidden_in(everything)
    archive.archive(fleets, everything / "kept")
    assert hidden_in(everything) == others, "it may be another process's, which is at work"
    whole, found = gather(fleets), gather(everything)
    assert len(found.runs) == len(whole.runs)
    assert found.problems == whole.problems
    shutil.rmtree(everything / "kept")
    make_old(half)
    archive.archive(fleets, everything / "other")
    assert hidden_in(everything) == others, "it belongs to another place"
    archive.archive(fleets, everything / "kept")
    others.remove(half.name)
    assert hidden_in(everything) == others


@pytest.mark.parametrize("name", [".hidden", "kept.0123abcd.new", ".kept.new"])
def test_other_hidden_folders_are_searched(fleets, tmp_path, name):
    fleets.rename(tmp_path / name)
    assert gather(tmp_path).runs
