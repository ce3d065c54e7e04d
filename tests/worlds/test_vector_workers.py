"""Slots in worker processes: how they fail, and that they end with their environment."""

import gc
import os
import signal

import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError

import recall
from recall.worlds.simulator import TaskFailedError
from recall.worlds.workers import WorkerDiedError
from tests.factories.environments import Counter, counter, failing
from tests.factories.processes import is_alive


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
