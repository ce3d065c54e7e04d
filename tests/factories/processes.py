"""Real processes: started, waited for, and looked up."""

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path


def recall_process(*arguments: str, **keywords) -> subprocess.Popen:
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-m", "recall", *arguments], **piped | keywords)


def wait_for(condition, what: str, seconds: float = 300.0):
    """Return what the condition gives as soon as that is true."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited {seconds} s in vain for {what}")


def children_of(pid: int) -> list[int]:
    """The processes started by `pid`, wherever their session is."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(stat.parent.name))
    return found


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
