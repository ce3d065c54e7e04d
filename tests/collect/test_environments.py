"""Several environments of a run: independent episodes, whose steps are the run's."""

from functools import cache

import numpy as np
import pytest

from recall.collect.messages import RunTasks
from recall.collect.pool import ChunkRequest, Pool
from recall.collect.task_schedule import TaskSchedule
from recall.errors import BadValueError
from recall.learn import fleet
from recall.settings import ScheduleSettings, WorldSettings
from recall.training.agents import agent_of
from tests.factories.fleets import CrashAt, CrashError, go_on, left_by, run, small_spec, start

HORIZON, STEPS, CHUNKS = 20, 5, 5  # steps of an episode, of a chunk in each environment, chunks


@cache
def rolled(environments: int, workers: int = 2) -> tuple[tuple[np.ndarray, ...], list]:
    """The fields of transitions [run, chunk, environment, step, ...], and the episodes that ended.

    The first chunk has random actions.
    """
    spec = small_spec("fine_tuning", [["point-rich"]], horizon_steps=HORIZON)
    agent, state_size = agent_of(spec)
    shape = fleet.policy_shape(agent)
    runs = [RunTasks(each.seed, each.tasks) for each in spec.runs]
    world = WorldSettings(horizon_steps=HORIZON)
    chunk = STEPS * environments
    lengths = {"steps_per_task": 10 * chunk, "evaluate_every": chunk, "record_every": chunk}
    lengths |= {"chunk_steps": chunk, "replay_capacity": chunk}
    schedule = ScheduleSettings(**lengths, environments=environments, random_tails=0.0)
    plan = TaskSchedule("current", 1, 10 * chunk, chunk)
    pool = Pool(runs, world, shape, schedule, plan, state_size, workers)
    policies = np.random.default_rng(0).normal(scale=0.1, size=(2, shape.size)).astype(np.float32)
    found, ended = [], []
    try:
        pool.begin((0,), fresh=(0,))
        for number in range(CHUNKS):
            pool.order([ChunkRequest(0, number * chunk, policies if number else None)])
            rows, over = pool.take()
            found.append(rows.reshape(2, STEPS, environments, -1).swapaxes(1, 2))
            ended += over
    finally:
        pool.close()
    return pool.columns.split(np.stack(found, axis=1)), ended


def test_the_first_environment_is_the_one_that_a_run_has_alone():
    alone, _ = rolled(1)
    both, ended = rolled(2)
    for one, other in zip(both, alone, strict=True):
        np.testing.assert_array_equal(one[:, :, 0], other[:, :, 0])
    # Each environment ends its first episode in the fourth chunk.
    assert [(index, outcome.steps) for index, _, outcome in ended] == [
        (run_index, HORIZON) for run_index in (0, 0, 1, 1)
    ]
    _, _, reward, _, truncated, _ = both
    # The fourth of five chunks ends an episode of every environment.
    np.testing.assert_array_equal(np.argwhere(truncated[:, :, :, -1])[:, 1], 3)
    assert truncated.sum() == 4
    returns = reward[:, :4].sum(axis=(1, 3)).ravel()
    np.testing.assert_allclose([each.episode_return for *_, each in ended], returns, rtol=1e-5)


def test_environments_have_episodes_and_noise_of_their_own():
    (observation, action, *_), _ = rolled(2)
    for numbers in (observation[:, 0, :, 0], action[:, 0], action[:, 1]):
        assert len({each.tobytes() for each in numbers.reshape(4, -1)}) == 4


def test_which_worker_has_which_environment_does_not_matter():
    fields, ended = rolled(2)
    same, same_ended = rolled(2, workers=4)
    for one, other in zip(fields, same, strict=True):
        np.testing.assert_array_equal(one, other)
    # An outcome's slot says which environments share a simulator, and all else is the same.
    assert [(*each[:2], *each[2][1:]) for each in ended] == [
        (*each[:2], *each[2][1:]) for each in same_ended
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "changes"),
    [("recall", {}), ("perfect_memory", {"replay_mode": "online"}), ("multi_task", {})],
)
def test_a_fleet_with_several_environments_resumes_exactly(tmp_path, method, changes):
    spec = small_spec(method, environments=2, workers=3, checkpoint_minutes=1e-9, **changes)
    run(start(spec, tmp_path / "whole"))
    with pytest.raises(CrashError):
        run(start(spec, tmp_path / "crashed", CrashAt(7)))
    run(go_on(tmp_path / "crashed")[0])
    assert left_by(tmp_path / "crashed") == left_by(tmp_path / "whole")


def test_environments_share_a_chunk_equally():
    with pytest.raises(BadValueError, match="environments is 3; expected a divisor of chunk_steps"):
        ScheduleSettings(environments=3)
