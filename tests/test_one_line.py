"""Bad input from the command line and from Python gives one line, and no traceback."""

import errno
import os
import socket

import gymnasium
import pytest

import recall
from recall.cli import main
from recall.errors import RecallError
from recall.methods import METHODS
from recall.training.callbacks import Callback


def nothing():
    return None


def two_at_once():
    return gymnasium.make_vec("Pendulum-v1", 2)


@pytest.mark.parametrize(
    ("method", "sequence", "words"),
    [
        (METHODS["recall"], "point-rich", "the class Recall is not a method: give its name"),
        (3, "point-rich", "3 is not a method"),
        ("recall", [gymnasium.make("Pendulum-v1")], "is an environment; give a function that"),
        ("recall", gymnasium.make("Pendulum-v1"), "is an environment; give a function that"),
        ("recall", [None], "None"),
        ("recall", 3, "task 3"),
        ("recall", [nothing], "nothing returned None: a task's function must return"),
        ("recall", [two_at_once], "two_at_once returned SyncVectorEnv"),
    ],
)
def test_what_is_no_method_and_no_task_is_refused(tmp_path, method, sequence, words):
    with pytest.raises(RecallError) as caught:
        recall.train(method, sequence, out=tmp_path / "run", callback=Callback())
    assert words in str(caught.value)
    assert not (tmp_path / "run").exists()


def refused(capsys, *words):
    """The lines that a command prints before it ends with status 2."""
    with pytest.raises(SystemExit) as caught:
        main([str(word) for word in words])
    assert caught.value.code == 2
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize("value", ["nan", "Infinity", "-1", "1e300"])
def test_numbers_of_studies_are_finite(tmp_path, capsys, value):
    for option in ("--scale", "--memory"):
        words = ("study", "lambda", "--dry-run", option, value, "--out", tmp_path / "s")
        (line,) = refused(capsys, *words)
        assert line.startswith("recall: ")


def test_ports_that_cannot_be_used_are_told(tmp_path, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        used = taken.getsockname()[1]
        for port, reason in ((used, os.strerror(errno.EADDRINUSE)), (70000, "0-65535")):
            (line,) = refused(capsys, "report", tmp_path, "--serve", "--port", port)
            assert str(port) in line
            assert reason in line
            assert "--port" in line


def test_places_that_cannot_be_written_are_named(finished, tmp_path, capsys):
    occupied = tmp_path / "occupied"
    occupied.write_text("a file")
    for words in (
        ("report", finished, "--no-figures", "--out", occupied),
        ("film", finished, "--task", "point-rich", "--out", occupied / "film.gif"),
        ("film", finished, "--task", "point-rich", "--out", "/proc/film.png"),
    ):
        (line,) = refused(capsys, *words)
        assert line.startswith(f"recall: {words[-1]} cannot be written (")
    (tmp_path / "folder.png").mkdir()
    (line,) = refused(capsys, "film", finished, "--out", tmp_path / "folder.png")
    assert line.endswith("folder.png is a folder: give the name of a file")
