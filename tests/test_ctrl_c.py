"""Ctrl-C while a command loads what it needs."""

import signal
import subprocess
import sys

from recall.commands.ctrl_c import ended_by_ctrl_c

SWALLOWED = """
import os, signal, sys
from recall.commands.ctrl_c import ended_by_ctrl_c

with ended_by_ctrl_c():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            pass
    except BaseException:
        pass
    print("went on")
"""


def test_code_that_swallows_exceptions_does_not_keep_a_command_alive():
    done = subprocess.run([sys.executable, "-c", SWALLOWED], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_the_handler_is_pythons_again_afterwards_and_a_programs_own_is_kept():
    with ended_by_ctrl_c():
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with ended_by_ctrl_c():
            assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
