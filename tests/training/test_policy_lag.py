"""Policies that collect lie `policy_lag` bursts behind the learner."""

import json

import numpy as np
import pytest

from recall.config.stored import spec_from
from recall.learn import fleet
from recall.runs.description import read_description
from recall.training.trainer import Trainer
from tests.factories.fleets import small_spec, start

CHUNKS = 6  # of a stage of the small fleet; its updates begin with chunk 1


def watch(trainer: Trainer) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return lists that fill: the policies of each ordered chunk, and those after each chunk."""

    def policies() -> np.ndarray:
        return np.asarray(fleet.flat_policies(trainer.agent, trainer.state, 0, collecting=True))

    collecting, learned = [], [policies()]
    order, keep = trainer.pool.order, trainer._log_chunk

    def watched_order(requests):
        collecting.append(np.asarray(requests[0].policies))
        order(requests)

    def watched_keep(*arguments):
        learned.append(policies())
        keep(*arguments)

    trainer.pool.order, trainer._log_chunk = watched_order, watched_keep
    return collecting, learned


@pytest.mark.parametrize("lag", [0, 1, 3])
def test_a_chunk_is_collected_with_the_policies_from_so_many_bursts_before(tmp_path, lag):
    spec = small_spec("fine_tuning", random_steps=0, policy_lag=lag)
    trainer = start(spec, tmp_path)
    collecting, learned = watch(trainer)
    try:
        trainer.start_stage()
        for _ in range(CHUNKS):
            trainer.advance()
    finally:
        trainer.close()
    assert len(collecting) == CHUNKS
    assert len({each.tobytes() for each in learned}) == CHUNKS  # every burst changes them
    for chunk, policies in enumerate(collecting):
        np.testing.assert_array_equal(policies, learned[max(0, chunk - lag)])


@pytest.mark.parametrize(("overlap", "lag"), [(True, 1), (False, 0)])
def test_what_was_called_overlap_is_a_lag_of_one_or_none(tmp_path, overlap, lag):
    start(small_spec(), tmp_path).close()
    written = json.loads((tmp_path / "run.json").read_text())
    del written["settings"]["schedule"]["policy_lag"]
    written["settings"]["schedule"]["overlap"] = overlap
    (tmp_path / "run.json").write_text(json.dumps(written))
    assert spec_from(read_description(tmp_path)).settings.schedule.policy_lag == lag
