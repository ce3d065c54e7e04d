"""One job in this process."""

import json

import pytest

from recall.collect.cores import cores, use_cores
from recall.collect.pool import default_workers
from recall.config.resolve import resolve
from recall.studies.launch.job_runner import work
from recall.studies.launch.jobs import Job


@pytest.fixture
def all_cores():
    yield
    use_cores(None)


@pytest.mark.usefixtures("all_cores")
def test_a_fleet_counts_on_its_cores_and_records_what_the_user_called(tmp_path):
    lengths = {"steps_per_task": 50, "update_after": 50, "random_steps": 50}
    few = {"evaluation_episodes": 1, "deterministic_episodes": 0, "updates_per_burst": 1}
    small = {"hidden": (8,), "head_layers": 0}
    spec = resolve("fine_tuning", "point-rich", (0,), changes=lengths | few | small)
    command, events = ["recall", "study", "cw3"], []
    description = json.loads(json.dumps(spec.describe()))
    work(Job("one", str(tmp_path), description, command=command), events.append, cpus=3)
    assert events[-1].kind == "evaluated"
    assert cores() == 3
    assert [default_workers(runs) for runs in (1, 5, 20)] == [3, 5, 9]
    # Another machine, on which it may be resumed, has another number.
    described = json.loads((tmp_path / "run.json").read_text())
    assert described["settings"]["schedule"]["workers"] is None
    assert described["command"] == command
