"""A whole fleet on two devices, made of one CPU, leaves the records that it leaves on one."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FIRST_TASK = 300  # steps
# Runs in a process of its own: how many devices there are is settled when JAX starts.
PROGRAM = """
import json, sys
from pathlib import Path
import jax
from recall.learn import fleet
from tests.factories.fleets import run, small_spec, start

trainer = start(small_spec(), Path(sys.argv[1]))
run(trainer)
kept = jax.tree.leaves((trainer.state, trainer.history.replay))
print(json.dumps({
    "devices": sorted({len(leaf.sharding.device_set) for leaf in kept}),
    "whole": sum(leaf.sharding.is_fully_replicated for leaf in kept),
    "programs": fleet.burst._cache_size(),
}))
"""


def records(folder: Path, name: str) -> list[dict]:
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def alike(mine: Any, other: Any, step: int) -> bool:
    """The same but for rounding, which acting and learning make larger from step to step."""
    if isinstance(other, list):
        pairs = zip(mine, other, strict=True)
        return len(mine) == len(other) and all(alike(*pair, step) for pair in pairs)
    if isinstance(other, float):
        tolerance = 1e-2 if step <= FIRST_TASK else 5e-2
        return math.isclose(mine, other, rel_tol=tolerance, abs_tol=tolerance / 10)
    return mine == other


@pytest.mark.slow
def test_a_fleet_on_two_devices_leaves_what_it_leaves_on_one(tmp_path, finished):
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "two")],
        env=os.environ | {"XLA_FLAGS": flags, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    # One burst is compiled without old tasks and one with, as on one device.
    assert told == {"devices": [2], "whole": 0, "programs": 2}
    for name in ("evaluations.jsonl", "training.jsonl"):
        ours, theirs = records(tmp_path / "two", name), records(finished, name)
        assert len(ours) == len(theirs) > 0
        for mine, other in zip(ours, theirs, strict=True):
            assert mine.keys() == other.keys()
            for key in other:
                assert alike(mine[key], other[key], other["step"]), (name, key, mine, other)
    assert (tmp_path / "two" / "outcome.json").exists()
