"""A real cluster of several nodes on this machine, one of which is lost in the middle."""

import dataclasses
import io
import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import psutil
import pytest
from rich.console import Console

from recall.errors import BadValueError
from recall.studies.launch import ray_launcher
from recall.studies.launch.display import Display
from recall.studies.launch.place import on_cluster
from recall.studies.runner import run_study
from tests.factories.processes import wait_for
from tests.factories.studies import (
    CHOICES,
    FLEETS,
    SMALL,
    STUDY,
    left_by,
    left_when_nothing_happens,
    printing,
)

# A lost node is noticed within seconds instead of half a minute.
QUICK = {
    "health_check_initial_delay_ms": 500,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 1000,
    "health_check_failure_threshold": 3,
}


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "_system_config": QUICK})
    made.add_node(num_cpus=1)
    made.add_node(num_cpus=1)
    ray_launcher.connect(made.address)
    yield made
    ray_launcher.disconnect()
    made.shutdown()


def process_of(fleet_folder: Path) -> int:
    return json.loads((fleet_folder / "lock").read_text())["pid"]


class LoseANode(Display):
    """Takes the node away on which a fleet has just evaluated for the first time."""

    def __init__(self, jobs, finished, cluster, folder, told, lost):
        super().__init__(jobs, finished, console=Console(file=told, width=200))
        self._cluster, self._folder, self._lost = cluster, folder, lost

    def take(self, event):
        super().take(event)
        if event.kind == "evaluated" and not self._lost:
            self._lost.append(event.job)
            raylet = psutil.Process(process_of(self._folder / event.job)).ppid()
            (node,) = (
                node
                for node in self._cluster.worker_nodes
                if node.all_processes["raylet"][0].process.pid == raylet
            )
            self._cluster.remove_node(node, allow_graceful=False)


@pytest.mark.slow
def test_a_lost_node_loses_nothing_and_nothing_is_run_twice(tmp_path, cluster):
    # Fleets that are still training when the node is gone, which takes a moment.
    choices = dataclasses.replace(CHOICES, changes=SMALL | {"steps_per_task": 2000})
    folder, told = tmp_path / "study", io.StringIO()
    place = on_cluster(folder / "logs", runs_per_fleet=1, memory=1.0)
    assert place.room.places == 2
    lost = []
    display = partial(LoseANode, cluster=cluster, folder=folder, told=told, lost=lost)
    result = run_study(STUDY, choices, folder, place.room, place.launcher, display, retries=0)
    assert result.exit_status == 0, told.getvalue()
    (lost,) = lost
    fleets = json.loads((folder / "study.json").read_text())["fleets"]
    attempts = {fleet["name"]: fleet["attempts"] for fleet in fleets}
    assert attempts == dict.fromkeys(FLEETS, 1) | {lost: 2}
    assert f"{lost}: its node is lost" in told.getvalue()
    assert re.search(rf"{lost}: 1 run of 4,000 steps, from step \d+", told.getvalue())
    assert left_by(folder) == left_when_nothing_happens(choices, tmp_path / "uninterrupted")


DRIVER = """
import sys
from pathlib import Path
from recall.studies.launch.place import on_cluster
from recall.studies.runner import run_study
from tests.factories.studies import CHOICES, STUDY

folder = Path(sys.argv[2])
place = on_cluster(folder / "logs", sys.argv[1], runs_per_fleet=1, memory=1.0)
run_study(STUDY, CHOICES, folder, place.room, place.launcher)
"""


@pytest.mark.slow
def test_a_killed_driver_loses_nothing_and_the_next_goes_on(tmp_path, cluster, uninterrupted):
    folder, told = tmp_path / "study", io.StringIO()
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, cluster.address, str(folder)])

    def saved():
        return {path.parents[1].name for path in folder.glob("*/checkpoints/*.npz")}

    begun = wait_for(saved, "a checkpoint")
    driver.kill()
    driver.wait()
    place = on_cluster(folder / "logs", runs_per_fleet=1, memory=1.0)
    result = run_study(
        STUDY, CHOICES, folder, place.room, place.launcher,
        printing(told), retries=0,
    )  # fmt: skip
    assert result.exit_status == 0, told.getvalue()
    # A fleet that was saved goes on from there, unless it had finished meanwhile.
    for name in begun & set(re.findall(r"^(\S+): 1 run", told.getvalue(), re.MULTILINE)):
        assert re.search(rf"{name}: 1 run of 400 steps, from step \d+", told.getvalue())
    assert left_by(folder) == uninterrupted


@pytest.mark.slow
def test_a_fleet_that_no_node_has_room_for_is_refused(cluster):
    with pytest.raises(BadValueError, match="no node of the cluster has 64 CPUs and 0 GPUs"):
        ray_launcher.needs_of(64, None)
