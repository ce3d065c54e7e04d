"""Worker processes: how they fail, and that they end with their environment or parent."""

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
from recall.worlds.workers import Answers, TaskFailedError, WorkerDiedError, WorkerGroup
from tests.factories.environments import Counter, counter, failing
from tests.factories.processes import is_alive, wait_for

ROOT = Path(__file__).parents[2]


class Adder:
    """Adds its part to what it is asked, and writes the sum to the shared memory."""

    task = "adding"

    def __init__(self, setup, part, shared, index):
        self.part, self.shared = part, shared

    def handle(self, order):
        if order == "die":
            os._exit(3)
        if order == "hang":
            signal.pause()
        self.shared["sums"][self.part] = order + self.part
        return order + self.part

    def close(self):
        raise OSError("still in use")


class Adders(WorkerGroup):
    service = Adder

    def __init__(self, count=2):
        super().__init__(None, list(range(count)), {"sums": ((count,), np.float64)})

    def describe(self, process):
        return "adding"


def ask(workers_, *orders):
    for process, order in zip(workers_.processes, orders, strict=True):
        process.send(order)
    return Answers(workers_).wait()


def test_a_failure_is_told_although_another_worker_hangs():
    adders = Adders()
    with pytest.raises(TaskFailedError, match="TypeError"):
        ask(adders, "hang", "no number")
    adders.close()


def test_workers_answer_in_order_share_memory_and_end(capfd):
    adders = Adders()
    assert ask(adders, 5, 6) == [5, 7]
    assert adders.shared["sums"].tolist() == [5.0, 7.0]
    assert ask(adders, 1, 1) == [1, 2]
    with pytest.raises(TaskFailedError, match="task adding: TypeError"):
        ask(adders, "a", 1)
    assert ask(adders, 2, 2) == [2, 3], "the other has answered, and both go on"
    processes = adders.process_ids()
    adders.close()
    adders.close()
    assert not any(map(is_alive, processes))
    assert capfd.readouterr().err.count("task adding: OSError: still in use") == 2


def test_a_dead_worker_is_restarted_as_often_as_is_allowed(capfd):
    adders = Adders()
    os.kill(adders.process_ids()[0], signal.SIGKILL)
    assert ask(adders, 5, 6) == [5, 7]
    assert adders.restarts == 1
    with pytest.raises(WorkerDiedError, match="with code 3 while adding"):
        ask(adders, "die", 6)
    assert adders.restarts == 4
    adders.close()
    told = capfd.readouterr().err
    assert told.count("SIGKILL") == 1
    assert "4 worker processes ended" in told


def test_a_state_that_cannot_be_put_back_is_told_with_its_task(monkeypatch):
    monkeypatch.setattr(Adders, "put_back", lambda self, process: "no number")
    adders = Adders()
    os.kill(adders.process_ids()[0], signal.SIGKILL)
    with pytest.raises(TaskFailedError, match="task adding: TypeError"):
        ask(adders, 5, 6)
    adders.close()


PARENT = """
import time
import numpy as np
import recall
from tests.factories.environments import {task}

if __name__ == "__main__":
    env = recall.make_vec({task}, 2, horizon=5, workers=2)
    env.reset()
    print(*env._slots._group.process_ids(), flush=True)
    {do}
    time.sleep(100)
"""


@pytest.mark.parametrize(
    ("task", "do"),
    [
        ("Point", ""),
        pytest.param("Point", "1 / 0", marks=pytest.mark.slow),
        ("Hanging", "env.step(np.zeros((2, 2)))"),  # in C code that never lets Python run
    ],
)
def test_no_worker_outlives_its_parent(task, do):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT.format(task=task, do=do)], cwd=ROOT, stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    processes = [int(each) for each in parent.stdout.readline().split()]
    assert len(processes) == 2
    if do != "1 / 0":
        assert all(map(is_alive, processes))
        parent.kill()
    parent.wait(timeout=300)
    parent.stdout.close()
    wait_for(lambda: not any(map(is_alive, processes)), "the workers to end")


def process_ids(env):
    return env._slots._group.process_ids()


def test_a_dead_worker_is_told_with_its_slots_and_ends_the_others():
    env = recall.make_vec("point-rich", 4, workers=2)
    env.reset()
    processes = process_ids(env)
    os.kill(processes[1], signal.SIGKILL)
    with pytest.raises(WorkerDiedError, match=r"SIGKILL.*slots 2 to 3.*closed"):
        env.step(np.zeros((4, 2)))
    assert not any(map(is_alive, processes))
    with pytest.raises(WorkerDiedError):
        env.step(np.zeros((4, 2)))
    env.close()
    with pytest.raises(ClosedEnvironmentError):
        env.reset()


def test_a_task_that_fails_is_named():
    with pytest.raises(TaskFailedError, match=r"failing: .*ZeroDivisionError: no such luck"):
        recall.make_vec(failing, 2, horizon=5, workers=2)


def test_functions_that_no_module_has_are_sent_to_workers():
    env = recall.make_vec(lambda: Counter(), 2, horizon=5, workers=2, seed=0)
    same = recall.make_vec(counter, 2, horizon=5, seed=0)
    np.testing.assert_array_equal(env.reset()[0], same.reset()[0])
    env.close()


def test_workers_end_with_their_environment():
    """Whether it is closed or forgotten."""
    env, forgotten = (recall.make_vec("point-rich", 2, workers=2) for _ in range(2))
    processes = [*process_ids(env), *process_ids(forgotten)]
    assert all(map(is_alive, processes))
    env.close()
    env.close()
    del forgotten
    gc.collect()
    assert not any(map(is_alive, processes))
