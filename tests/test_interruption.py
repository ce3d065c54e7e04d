"""Ctrl-C and SIGTERM while a command loads or writes something."""

import os
import signal
import subprocess
import sys

import pytest

from recall.commands.interruption import clean_up_on_sigterm, exit_at_once_on_ctrl_c

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
