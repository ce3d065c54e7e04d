"""One job in this process."""

import json

import pytest

from recall.config.resolve import resolve
from recall.launch.job_runner import work
from recall.launch.jobs import Job


@pytest.mark.parametrize(("chosen", "workers"), [(None, 3), (1, 1)])
def test_a_fleet_gets_a_worker_for_each_of_its_cpus_unless_a_setting_says_otherwise(
    tmp_path, chosen, workers
):
    lengths = {"steps_per_task": 50, "update_after": 50, "random_steps": 50}
    few = {"evaluation_episodes": 1, "deterministic_episodes": 0, "updates_per_burst": 1}
    spec = resolve(
        "fine_tuning",
        "point-rich",
        (0,),
        changes=lengths | few | {"hidden": (8,), "head_layers": 0, "workers": chosen},
    )
    events = []
    work(Job("one", str(tmp_path), json.loads(json.dumps(spec.describe()))), events.append, cpus=3)
    assert events[-1].kind == "evaluated"
    described = json.loads((tmp_path / "run.json").read_text())
    assert described["settings"]["schedule"]["workers"] == workers
