"""A real cluster of several nodes on this machine, one of which is lost in the middle."""

import io
import json
import re
from pathlib import Path

import pytest
from ray.cluster_utils import Cluster

from recall.launch import ray as launcher
from recall.launch.board import Lines
from recall.launch.places import Where, place_of
from recall.studies.run import run_study
from tests.studies.small_studies import CHOICES, FLEETS, STUDY, left_by

# A lost node is noticed within seconds instead of half a minute.
QUICK = {
    "health_check_initial_delay_ms": 500,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 1000,
    "health_check_failure_threshold": 3,
}
NEEDS = launcher.Needs(cpus=1, gpus=0)


@pytest.fixture
def cluster():
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "_system_config": QUICK})
    made.add_node(num_cpus=1)
    made.add_node(num_cpus=1)
    launcher.connect(made.address)
    yield made
    launcher.disconnect()
    made.shutdown()


def process_of(fleet_folder: Path) -> int:
    return json.loads((fleet_folder / "lock").read_text())["pid"]


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


class LoseANode(Lines):
    """Takes the node away on which a fleet has just evaluated for the first time."""

    def __init__(self, jobs, finished, cluster, folder, told):
        super().__init__(jobs, finished, told)
        self._cluster, self._folder = cluster, folder
        self.lost = None

    def take(self, event):
        super().take(event)
        if event.kind == "evaluated" and self.lost is None:
            self.lost = event.job
            raylet = parent_of(process_of(self._folder / event.job))
            (node,) = (
                node
                for node in self._cluster.worker_nodes
                if node.all_processes["raylet"][0].process.pid == raylet
            )
            self._cluster.remove_node(node, allow_graceful=False)


def test_a_lost_node_loses_nothing_and_nothing_is_run_twice(tmp_path, cluster, finished):
    folder, told = tmp_path / "study", io.StringIO()
    place = place_of(Where("ray", runs_per_fleet=1, memory=1.0), folder / "logs")
    assert place.room.places == 2
    boards = []

    def board(jobs, before):
        boards.append(LoseANode(jobs, before, cluster, folder, told))
        return boards[0]

    result = run_study(STUDY, CHOICES, folder, place.room, place.launcher, board, retries=0)
    assert result.exit_status == 0, told.getvalue()
    (lost,) = (name for name in FLEETS if name == boards[0].lost)
    assert result.outcome.attempts == dict.fromkeys(FLEETS, 1) | {lost: 2}
    assert f"{lost}: its node is lost" in told.getvalue()
    assert re.search(rf"{lost}: 1 x 400 steps, from step \d+", told.getvalue())
    assert left_by(folder) == left_by(finished.folder)
