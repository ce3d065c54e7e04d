"""What writes to a terminal, whatever the environment says about colours."""

import io
import os
import pty

import pytest
from rich.console import Console

from recall.files.screen import is_terminal


class WriteOnly:
    """What a program may put in the place of standard output."""

    def write(self, text: str) -> int:
        return len(text)


def closed() -> io.StringIO:
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("stream", [io.StringIO(), WriteOnly(), closed()])
def test_forced_colour_makes_no_terminal_of_a_stream(stream, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert Console(file=stream).is_terminal
    assert not is_terminal(Console(file=stream))


def test_a_terminal_is_one():
    _, terminal = pty.openpty()
    with os.fdopen(terminal, "w") as stream:
        assert is_terminal(Console(file=stream))
