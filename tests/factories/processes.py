"""Real processes: started, waited for, and looked up."""

import subprocess
import sys
import time

import psutil


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
    try:
        return [child.pid for child in psutil.Process(pid).children()]
    except psutil.NoSuchProcess:
        return []


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
