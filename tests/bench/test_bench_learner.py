"""The benchmark of the learner, in small: what it says, not how fast."""

import os

import jax
import pytest

from recall.bench import apart
from recall.bench.learner import bench_learner, tables
from recall.errors import RecallError, UnknownNameError


@pytest.mark.slow
def test_a_row_for_each_method_and_number_of_runs():
    told = []
    result = bench_learner(runs=(1,), tasks=1, methods=("fine_tuning",), progress=told.append)
    assert told == ["fine_tuning, 1 run"]
    assert result["device"] == jax.devices()[0].device_kind
    [row] = result["rows"]
    assert (row["method"], row["runs"], row["tasks"]) == ("fine_tuning", 1, 1)
    assert row["run_updates_per_s"] == pytest.approx(1e3 / row["ms_per_update"])
    # Four times the actor and twelve times a critic, 128 rows: 12 or 16 inputs, then 4 x 256.
    hidden = 3 * 256 * 256
    flops = 2 * 128 * (4 * (12 * 256 + hidden + 256 * 8) + 12 * (16 * 256 + hidden + 256))
    assert row["flops_per_s"] == pytest.approx(flops * row["run_updates_per_s"])
    assert row["matmul_flops_per_s"] > 0
    [[shown]] = tables(result)
    assert shown["share_of_a_large_product"] > 0


def test_a_method_it_does_not_know_is_told_before_anything_is_measured():
    told = []
    with pytest.raises(UnknownNameError, match="unknown method 'fine_tunning'"):
        bench_learner((1,), 1, methods=("recall", "fine_tunning"), progress=told.append)
    assert told == []


def test_what_cannot_be_measured_is_told_with_a_way_out():
    with pytest.raises(RecallError, match=r"^9 could not be measured.*--runs"):
        apart(os._exit, 9)
