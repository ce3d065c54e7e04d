"""The processes behind a vector of environments: how they die, and that nothing outlives them."""

import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError

import recall
from recall.errors import BadValueError
from recall.worlds.processes import WorkerError
from tests.factories.environments import counter, failing


def processes_of(env):
    return [worker.process for worker in env._slots._workers]


def test_a_dead_worker_is_told_with_its_slots_and_ends_the_others():
    env = recall.make_vec("point-rich", 4, workers=2)
    env.reset()
    processes = processes_of(env)
    os.kill(processes[1].pid, signal.SIGKILL)
    with pytest.raises(WorkerError, match=r"slots 2 to 3 died with exit code -9"):
        env.step(np.zeros((4, 2)))
    assert not any(process.is_alive() for process in processes)
    with pytest.raises(WorkerError):
        env.step(np.zeros((4, 2)))
    env.close()
    with pytest.raises(ClosedEnvironmentError):
        env.reset()


def test_a_worker_that_cannot_start_says_why():
    with pytest.raises(WorkerError, match="ZeroDivisionError: no such luck"):
        recall.make_vec(failing, 2, horizon=5, workers=2)
    with pytest.raises(BadValueError, match=r"lambda.*cannot be sent"):
        recall.make_vec(lambda: counter(), 2, horizon=5, workers=2)


@pytest.mark.parametrize("end", ["close", "forget"])
def test_workers_end_with_their_environment(end):
    env = recall.make_vec("point-rich", 2, workers=2)
    env.reset()
    processes = processes_of(env)
    assert all(process.is_alive() for process in processes)
    if end == "close":
        env.close()
        env.close()
    else:
        del env
        gc.collect()
    assert not any(process.is_alive() for process in processes)


def shared_maps() -> set[str]:
    """The files in shared memory that this process has mapped."""
    maps = Path(f"/proc/{os.getpid()}/maps").read_text().splitlines()
    return {line.split("/")[-1] for line in maps if "/dev/shm/recall-" in line}


def test_nothing_is_left_of_the_shared_memory():
    shared = Path("/dev/shm")
    if not shared.is_dir():
        pytest.skip("shared memory has no folder here")
    before = shared_maps()  # of other tests' environments
    env = recall.make_vec("point-rich", 2, workers=2)
    (name,) = shared_maps() - before
    assert name.endswith("(deleted)")
    env.close()


@pytest.mark.parametrize("death", ["os._exit(3)", "os.kill(os.getpid(), signal.SIGKILL)", "1 / 0"])
def test_workers_end_when_their_parent_dies(death):
    program = f"""
import os, signal
import numpy as np
import recall
if __name__ == "__main__":
    env = recall.make_vec("point-rich", 2, workers=2)
    env.reset()
    print(env.step(np.zeros((2, 2)))[0].shape, flush=True)
    {death}
"""
    # The workers hold the pipe too: it only closes, and `run` returns, when all have ended.
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert done.stdout.decode() == "(2, 6)\n"
    assert done.returncode != 0
