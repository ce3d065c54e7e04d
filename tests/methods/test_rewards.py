"""Every method trains under both rewards, whose values are hundreds of times apart."""

import pytest

from recall.methods import OURS
from recall.runs.store import read
from tests.factories.fleets import run, small_spec, start

TASKS = "window-close,push"


@pytest.mark.slow
@pytest.mark.parametrize("name", OURS)
def test_a_method_learns_from_both_rewards(tmp_path, name):
    changes = {"steps_per_task": 200, "evaluate_every": 200, "evaluation_episodes": 1}
    changes |= {"horizon_steps": 50}
    if OURS[name]().retraining_updates:
        changes["retraining_updates"] = 5
    returns = {}
    for reward in ("v1", "v2"):
        run(start(small_spec(name, TASKS, seeds=(0,), reward=reward, **changes), tmp_path / reward))
        left = read(tmp_path / reward)
        assert left.outcome.finished
        assert left.outcome.failed == {}
        assert any("loss_q" in record for record in left.training)
        returns[reward] = [record["return"] for record in left.evaluations]
    assert len(returns["v1"]) == len(returns["v2"]) == 8  # two tasks, twice, in two modes
    assert returns["v1"] != returns["v2"]
