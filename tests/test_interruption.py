"""Ctrl-C and SIGTERM while a command loads or writes something, and terminals that are closed."""

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from recall.commands.interruption import (
    clean_up_on_sigterm,
    exit_at_once_on_ctrl_c,
    tolerate_closed_terminal,
)

SWALLOWED = """
import os, signal, sys
from recall.commands.interruption import exit_at_once_on_ctrl_c

with exit_at_once_on_ctrl_c():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            pass
    except BaseException:
        pass
    print("went on")
"""


def test_code_that_swallows_exceptions_does_not_keep_a_command_alive():
    done = subprocess.run([sys.executable, "-c", SWALLOWED], capture_output=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_sigterm_is_an_exception_after_which_files_are_cleaned_up():
    with pytest.raises(SystemExit) as caught, clean_up_on_sigterm():
        os.kill(os.getpid(), signal.SIGTERM)
    assert caught.value.code == 143


@pytest.mark.parametrize(
    ("number", "context"),
    [(signal.SIGINT, exit_at_once_on_ctrl_c), (signal.SIGTERM, clean_up_on_sigterm)],
)
def test_handlers_are_restored_and_those_of_a_program_are_kept(number, context):
    before = signal.getsignal(number)
    with context():
        assert signal.getsignal(number) is not before
    assert signal.getsignal(number) is before
    signal.signal(number, signal.SIG_IGN)
    try:
        with context():
            assert signal.getsignal(number) == signal.SIG_IGN
    finally:
        signal.signal(number, before)


def test_what_is_printed_on_a_closed_terminal_goes_nowhere(monkeypatch):
    reader, terminal = pty.openpty()
    with os.fdopen(terminal, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setattr(sys, "stderr", None)
        with tolerate_closed_terminal():
            print("seen", flush=True)
            assert os.read(reader, 100) == b"seen\r\n"
            os.close(reader)
            with pytest.raises(OSError, match="Input/output"):
                os.write(terminal, b"lost")
            print("lost", flush=True)
            print("to nobody", file=sys.stderr, flush=True)
        assert sys.stdout is stream
        assert os.fstat(terminal).st_rdev == Path(os.devnull).stat().st_rdev
