"""A run's random numbers: of its seed and its tasks, and of nothing else."""

import numpy as np
import pytest

from recall.learn import fleet
from recall.training.evaluation import Evaluation, counts_of
from tests.factories.fleets import small_spec, start

RICH, POOR, SLIDE = "point-rich", "point-poor", "point-slide"


@pytest.mark.parametrize(
    ("tasks", "seed", "expected"),
    [
        (f"{RICH},{POOR}", 0, 1501835438),
        (f"{RICH},{POOR}", 7, 1501835433),
        (f"{RICH},{SLIDE}", 0, 334327006),
        ([[RICH, SLIDE]], 0, 334327006),
    ],
)
def test_the_seed_is_the_same_in_every_process(tasks, seed, expected):
    """Known answers: Python's own hash of a text is another one in each process."""
    (run,) = small_spec(sequence=tasks, seeds=(seed,)).runs
    assert run.own_seed == expected


def test_every_seed_gives_a_run_of_its_own():
    runs = small_spec(sequence=[[RICH], [POOR], [SLIDE]], seeds=range(100)).runs
    assert len({run.own_seed for run in runs}) == 300
    assert all(0 <= run.own_seed < 2**31 for run in runs)


def test_runs_that_begin_alike_are_different_from_the_first_step_on(tmp_path):
    """One seed, one first task: networks, starts of episodes, actions and evaluations differ."""
    sequences = [f"{RICH},{POOR}", f"{RICH},{SLIDE}"]
    trainer = start(small_spec("fine_tuning", sequences, seeds=(0,)), tmp_path)
    try:
        trainer.start_stage()
        one, other = np.asarray(fleet.flat_policies(trainer.agent, trainer.state, 0))
        assert np.mean(one != other) > 0.5  # biases start at zero
        trainer.advance()
        rows = np.asarray(trainer.history.replay.new)[:, : trainer.schedule.chunk_steps]
        observation, action, *_ = trainer.agent.columns.split(rows)
        assert not np.array_equal(observation[0, 0], observation[1, 0])
        assert (action[0] != action[1]).all()
    finally:
        trainer.close()
    counts = counts_of(trainer.schedule)
    episodes = Evaluation(trainer.spec.runs, 100, counts, [(0, 0), (0, 1)]).episodes()
    assert len({episode.stream for episode in episodes}) == len(episodes)
