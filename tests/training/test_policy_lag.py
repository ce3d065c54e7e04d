"""Policies that collect lie `policy_lag` bursts behind the learner, also after a resumption."""

import numpy as np
import pytest

from recall.training.trainer import Trainer
from tests.factories.fleets import CrashAt, CrashError, go_on, left_by, run, small_spec, start

CHUNKS = 6  # of a stage of the small fleet; its updates begin with chunk 1


def watch(trainer: Trainer) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return lists that fill: the policies of each ordered chunk, and those after each chunk."""
    collecting, learnt = [], [trainer.policies(0)]
    order, keep = trainer.chunks.order, trainer._keep

    def watched_order(requests):
        collecting.append(np.asarray(requests[0].policies))
        order(requests)

    def watched_keep(*arguments):
        learnt.append(trainer.policies(0))
        keep(*arguments)

    trainer.chunks.order, trainer._keep = watched_order, watched_keep
    return collecting, learnt


@pytest.mark.parametrize("lag", range(4))
def test_a_chunk_is_collected_with_the_policies_from_so_many_bursts_before(tmp_path, lag):
    spec = small_spec("fine_tuning", random_steps=0, policy_lag=lag)
    trainer = start(spec, tmp_path)
    collecting, learnt = watch(trainer)
    try:
        trainer.start_stage()
        for _ in range(CHUNKS):
            trainer.advance()
    finally:
        trainer.close()
    assert len(collecting) == CHUNKS
    assert len({each.tobytes() for each in learnt}) == CHUNKS  # every burst changes them
    for chunk, policies in enumerate(collecting):
        np.testing.assert_array_equal(policies, learnt[max(0, chunk - lag)])


@pytest.mark.parametrize(
    ("lag", "crash"),
    [(3, 9), *(pytest.param(*each, marks=pytest.mark.slow) for each in ((0, 4), (1, 4), (3, 4)))],
)
def test_a_fleet_goes_on_with_the_chunks_that_were_under_way(tmp_path, lag, crash):
    """A checkpoint after every chunk; the crash is in the middle of a stage or near its end."""
    spec = small_spec(policy_lag=lag, seeds=(0,), checkpoint_minutes=1e-9)
    run(start(spec, tmp_path / "whole"))
    with pytest.raises(CrashError):
        run(start(spec, tmp_path / "crashed", CrashAt(crash)))
    run(go_on(tmp_path / "crashed")[0])
    assert left_by(tmp_path / "crashed") == left_by(tmp_path / "whole")
