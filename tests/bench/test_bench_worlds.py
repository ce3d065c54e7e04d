"""The benchmark of the worlds, in small: what it says, not how fast."""

import json

import pytest

from recall.bench.worlds import bench_worlds, tables
from recall.errors import BadValueError


@pytest.mark.slow
def test_everybody_is_measured():
    result = bench_worlds(steps_per_task=200, cores=1, tasks=("window-close",), slots=1)
    result = json.loads(json.dumps(result))
    for name in ("ours_1", "ours_all", "metaworld_1", "metaworld_async"):
        assert result[name] > 0
        assert result["tasks"][0][name] == pytest.approx(result[name])
    assert result["ratio_1"] == pytest.approx(result["ours_1"] / result["metaworld_1"])
    assert result["ratio_all"] == pytest.approx(result["ours_all"] / result["metaworld_1"])
    assert {"envpool_1", "envpool_all"} <= set(result)
    assert (result["cores"], result["steps_per_task"]) == (1, 200)
    assert 0 < result["memory_per_slot_bytes"] < 10_000_000
    (row, pooled), (ratios,) = tables(result)
    assert row["task"] == "window-close"
    assert row["recall_1_core"] == pooled["recall_1_core"]
    assert ratios["ratio_to_metaworld_on_1_core"] == result["ratio_1"]


def test_no_steps_are_refused():
    with pytest.raises(BadValueError, match="0 steps"):
        bench_worlds(steps_per_task=0)
