"""The pool: how it shares environments out, and what it does with orders, deaths and errors."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator

import numpy as np
import pytest

from recall.collect import pool as pool_module
from recall.collect.evaluation_pool import EvaluationPool
from recall.collect.messages import EVALUATION, Episode, RunTasks
from recall.collect.noise import draw, draw_uniform
from recall.collect.policy import PolicyShape
from recall.collect.pool import ChunkRequest, Pool, environments_of_workers
from recall.collect.task_schedule import TaskSchedule
from recall.learn import fleet
from recall.settings import ScheduleSettings, WorldSettings
from recall.training.agents import agent_of
from recall.worlds import workers as workers_module
from recall.worlds.simulator import TaskFailedError
from recall.worlds.workers import Abandoned, never
from tests.factories import environments
from tests.factories.environments import Exiting, Fleeting, Hanging, Point
from tests.factories.fleets import small_spec


@pytest.mark.parametrize(
    ("environments", "workers", "shares"),
    [(40, 16, [3] * 12 + [2] * 2), (5, 16, [1] * 5), (3, 2, [2, 1])],
)
def test_there_are_no_more_workers_than_shorten_the_chunk(environments, workers, shares):
    parts = environments_of_workers(environments, workers)
    assert [len(part) for part in parts] == shares
    assert sum(parts, ()) == tuple(range(environments))


WORLD = WorldSettings(horizon_steps=20)


def fleet_of(task, sized_like=None) -> tuple[list[RunTasks], PolicyShape, int]:
    """Two runs of a task, the shape of their policies, and the size of a state."""
    spec = small_spec("fine_tuning", [[sized_like or task]], horizon_steps=20)
    agent, state_size = agent_of(spec)
    runs = [RunTasks(run.seed, (task,)) for run in spec.runs]
    return runs, fleet.policy_shape(agent), state_size


@contextlib.contextmanager
def small_pool(
    task, sized_like=None, should_stop=never, **keywords
) -> Iterator[tuple[Pool, np.ndarray]]:
    """A pool of two workers, and policies of zeros [run, size]."""
    runs, shape, state_size = fleet_of(task, sized_like)
    plan = TaskSchedule("current", 1, 1_000, 10)
    given = (
        ScheduleSettings(chunk_steps=10, random_tails=0.0, **keywords),
        plan,
        state_size,
        2,
        should_stop,
    )
    with contextlib.closing(Pool(runs, WORLD, shape, *given)) as pool:
        yield pool, np.zeros((len(runs), shape.size), np.float32)


def test_several_chunks_may_be_ordered_at_a_time():
    def rolled(ahead, kill=False):
        """Rows of six chunks, and the states after each, with up to `ahead` chunks ordered."""
        found = []
        with small_pool("point-rich", policy_lag=ahead - 1) as (pool, policies):
            # Another policy in every chunk, so that one in the wrong slot is noticed.
            requests = [
                ChunkRequest(0, 10 * number, policies + 0.1 * number if number else None)
                for number in range(6)
            ]
            pool.begin((0,), fresh=(0,))
            for request in requests[: ahead - 1]:
                pool.order([request])
            for number in range(6):
                for request in requests[number + ahead - 1 : number + ahead]:
                    pool.order([request])
                if kill and number in (1, 4):
                    for worker in pool.process_ids():
                        os.kill(worker, signal.SIGKILL)
                rows, ended = pool.take()
                # What is collected meanwhile must not touch the states after this chunk.
                time.sleep(0.1 if ahead > 1 and not kill else 0.0)
                found.append((rows, ended, pool._states()))
            assert (pool.restarts > 0) == kill
        return found

    for one, other, killed in zip(rolled(1), rolled(2), rolled(3, kill=True), strict=True):
        for same in (other, killed):
            assert (one[0] == same[0]).all()
            assert one[1] == same[1]
            assert (one[2] == same[2]).all()


def test_an_exception_in_a_task_is_told_with_its_place():
    with small_pool(Exiting, Point) as (pool, policies):
        pool.begin((0,), fresh=(0,))
        pool.order([ChunkRequest(0, 0, policies)])
        with pytest.raises(TaskFailedError) as caught:
            pool.take()
    message = f"task Exiting: step() raised SystemExit: 3 ({environments.__file__}:"
    assert str(caught.value).startswith(message)
    assert "Traceback" in caught.value.__notes__[0], "for --debug"


def test_a_step_that_hangs_is_named_and_does_not_keep_a_stop_waiting(monkeypatch):
    told = []
    monkeypatch.setattr(workers_module, "tell", told.append)
    monkeypatch.setattr(workers_module, "_SILENT_SECONDS", 0.3)
    monkeypatch.setattr(pool_module, "_STOP_SECONDS", 0.3)
    hanging = "collecting transitions of task Hanging of run"
    named = lambda: any(hanging in text for text in told)  # noqa: E731
    with small_pool(Hanging, Point, should_stop=named) as (pool, policies):
        pool.begin((0,), fresh=(0,))
        pool.order([ChunkRequest(0, 0, policies)])
        with pytest.raises(Abandoned, match=hanging):
            pool.take()


def test_a_policy_that_gives_no_number_acts_all_the_same_and_alone():
    with small_pool("point-rich") as (pool, policies):

        def rolled(last):
            policies[0, -1] = last
            pool.begin((0,), fresh=(0,))
            pool.order([ChunkRequest(0, 0, policies)])
            return pool.take()[0]

        rows, healthy = rolled(np.nan), rolled(0.0)
    assert np.isfinite(rows).all()
    assert (rows[0] != healthy[0]).any()
    assert (rows[1:] == healthy[1:]).all()


def test_actions_are_made_of_the_noise_of_their_steps():
    with small_pool("point-rich") as (pool, policies):
        pool.begin((0,), fresh=(0,))
        for first, given in [(0, None), (10, None), (20, policies), (30, policies)]:
            pool.order([ChunkRequest(0, first, given)])
            rows, _ = pool.take()
            for run in range(len(rows)):
                _, action, *_ = pool.columns.split(rows[run, 0])
                drawing = draw_uniform if given is None else draw
                drawn = drawing((run, 0), first, action.shape, 1.0, 20)
                # A policy of zeros has mean 0 and standard deviation 1.
                expected = drawn if given is None else np.tanh(drawn)
                assert np.allclose(action, expected, atol=1e-6), (first, run)


def test_an_episodes_result_depends_on_its_stream_alone():
    """Neither on those beside it, nor on the order; and it ends once, however long others last."""
    runs, shape, _ = fleet_of(Fleeting)
    episodes = [Episode(0, 0, False, (0, EVALUATION, number)) for number in range(6)]
    with contextlib.closing(EvaluationPool(runs, WORLD, shape, 2)) as pool:

        def play(chosen):
            pool.start(chosen)
            return [outcome._replace(slot=0) for outcome in pool.results()]

        together = play(episodes)
        assert play(episodes[::-1]) == together[::-1]
        assert play(episodes[2:3]) == together[2:3]
    assert len({outcome.episode_return for outcome in together}) == 6
    assert len({outcome.steps for outcome in together}) > 1


def test_an_order_that_fails_is_told_when_its_chunk_is_taken():
    class Unready:
        def __array__(self, dtype=None, copy=None):
            raise FloatingPointError("the device has no policies")

    with small_pool("point-rich") as (pool, _):
        pool.begin((0,), fresh=(0,))
        pool.order([ChunkRequest(0, 0, Unready())])
        with pytest.raises(FloatingPointError, match="no policies"):
            pool.take()
