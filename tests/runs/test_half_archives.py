"""What is left of an archive that was stopped or killed is not read, and is removed in time."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from recall.analysis.collection import gather
from recall.files.atomic import is_hidden
from recall.runs.archive import archive

# An archive that sends itself a signal when it has written half of its fleets.
STOPPED = """
import os, sys
from recall.cli import main
from recall.runs import archive
write, written = archive._write_fleet, []

def writing(*arguments):
    if written:
        os.kill(os.getpid(), int(sys.argv[1]))
    write(*arguments)
    written.append(arguments)

archive._write_fleet = writing
main(sys.argv[2:])
"""


def stopped(number, *words):
    """Archive until the signal; return the exit status."""
    command = [sys.executable, "-c", STOPPED, str(int(number)), "archive", *map(str, words)]
    return subprocess.run(command, check=False, timeout=100).returncode


def hidden_in(folder):
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def make_old(folder):
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (time.time() - 86_400,) * 2)


def test_sigterm_leaves_nothing(fleets, tmp_path):
    kept = tmp_path / "all" / "kept"
    assert stopped(signal.SIGTERM, fleets, kept) == 128 + signal.SIGTERM
    assert list(kept.parent.iterdir()) == []


def test_half_an_archive_is_not_read_and_the_next_removes_it(fleets, tmp_path):
    everything = tmp_path / "all"
    assert stopped(signal.SIGKILL, fleets, everything / "kept") == -signal.SIGKILL
    (half,) = hidden_in(everything)
    assert is_hidden(half)
    assert list((everything / half).glob("*/run.json"))
    archive(fleets, everything / "kept")
    assert hidden_in(everything) == [half], "it may be another process's, which is at work"
    whole, found = gather(fleets), gather(everything)
    assert len(found.runs) == len(whole.runs)
    assert found.problems == whole.problems
    shutil.rmtree(everything / "kept")
    make_old(everything / half)
    archive(fleets, everything / "other")
    assert hidden_in(everything) == [half], "it belongs to another place"
    archive(fleets, everything / "kept")
    assert hidden_in(everything) == []


def test_hidden_folders_of_others_are_not_removed(finished, tmp_path):
    for name in (".kept.mine.new", ".kept.mine.0123abcd.new"):
        (tmp_path / name).mkdir()
        make_old(tmp_path / name)
    archive(finished, tmp_path / "kept")
    assert hidden_in(tmp_path) == [".kept.mine.0123abcd.new", ".kept.mine.new"]


@pytest.mark.parametrize("name", [".hidden", "kept.0123abcd.new", ".kept.new", ".kept.0123.new"])
def test_other_hidden_folders_are_searched(fleets, tmp_path, name):
    fleets.rename(tmp_path / name)
    assert gather(tmp_path).runs
