"""Which episodes an evaluation plays, and what it records of them."""

from types import SimpleNamespace

import pytest

from recall.collect.messages import EVALUATION, EpisodeResult
from recall.training.evaluation import recorded, streams


def test_an_evaluation_records_the_share_of_episodes_that_met_each_criterion():
    results = [
        EpisodeResult(1.0, strict, False, {"success_v1": lax, "success_v2": strict})
        for lax, strict in ((True, False), (True, True), (False, False), (True, False))
    ]
    runs = [SimpleNamespace(tasks=("push",))]
    (record,) = recorded(runs, [0], [0], 100, {"stochastic": 4, "deterministic": 0}, results)
    assert (record["success"], record["success_v1"], record["success_v2"]) == (0.25, 0.75, 0.25)
    assert (record["last_success"], record["return"]) == (0.0, 1.0)


@pytest.mark.parametrize(("mode", "kind"), [("stochastic", 0), ("deterministic", 1)])
def test_every_evaluation_has_episodes_of_its_own(mode, kind):
    found = streams(3, EVALUATION, 1, 500, mode, 2)
    assert found == [(3, EVALUATION, 1, 500, kind, 0), (3, EVALUATION, 1, 500, kind, 1)]
