"""The place where fleets train: its devices and their memory, and the launcher for it."""

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from recall.errors import BadValueError, RecallError
from recall.plugins.python_process import python_command
from recall.studies.launch import ray_cluster
from recall.studies.launch.devices import Devices
from recall.studies.launch.jobs import Launcher
from recall.studies.launch.local import LocalLauncher

_GIBIBYTE = 1024**3
_ONLY_ON_CLUSTERS = ("address", "cpus_per_fleet", "gpus_per_fleet")


@dataclass(frozen=True)
class Room:
    """The resources that one fleet may use, and the number of fleets that there is room for."""

    bytes_per_device: int
    devices: int = 1  # devices of one fleet
    places: int = 1  # fleets that can train at once
    runs_per_fleet: int | None = None  # maximum; None: limited by memory only


@dataclass(frozen=True)
class Where:
    """The user's choice of where fleets train."""

    launcher: str = "local"
    address: str | None = None
    cpus_per_fleet: int | None = None
    gpus_per_fleet: int | None = None
    fleets_at_once: int = 1
    runs_per_fleet: int | None = None
    memory: float | None = None
    """GiB of each device; None measures it."""


@dataclass(frozen=True)
class Place:
    """A machine or cluster with its resources, and how to launch fleets there."""

    room: Room
    title: str
    launcher: Callable[[], Launcher]
    close: Callable[[], None]


def place_of(where: Where, logs: Path) -> Place:
    """Inspect the machine or the cluster; the output of processes goes to `logs`."""
    for name in _ONLY_ON_CLUSTERS:
        if where.launcher != "ray" and getattr(where, name) is not None:
            raise BadValueError(f"--{name.replace('_', '-')} needs --launcher ray")
    return _on_cluster(where, logs) if where.launcher == "ray" else _here(where, logs)


def probe() -> Devices:
    """Measure this machine's devices in a separate process.

    A process that asks JAX for a GPU reserves most of its memory, so the launcher must not ask.
    """
    command = python_command(
        "import json; from recall.studies.launch import devices",
        "print(json.dumps(vars(devices.measure())))",
    )
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RecallError(f"the devices cannot be measured: {done.stderr.strip()[-300:]}")
    return Devices(**json.loads(done.stdout.splitlines()[-1]))


def _given_bytes(where: Where, measured: Callable[[], int]) -> int:
    return measured() if where.memory is None else int(where.memory * _GIBIBYTE)


def _here(where: Where, logs: Path) -> Place:
    devices, at_once = probe(), where.fleets_at_once
    size = _given_bytes(where, lambda: devices.bytes_each // at_once)
    return Place(
        Room(size, devices.count, at_once, where.runs_per_fleet),
        f"{devices.count} x {devices.kind}",
        lambda: LocalLauncher(logs, at_once),
        lambda: None,
    )


def _on_cluster(where: Where, logs: Path) -> Place:
    from recall.studies.launch.ray_launcher import RayLauncher

    ray_cluster.connect(where.address)
    needs = ray_cluster.needs_of(where.cpus_per_fleet, where.gpus_per_fleet)
    count = ray_cluster.places(needs)
    size = _given_bytes(where, lambda: ray_cluster.least_memory(needs))
    return Place(
        Room(size, max(1, needs.gpus), count, where.runs_per_fleet),
        f"{count} places of {needs.cpus} CPUs and {needs.gpus} GPUs",
        lambda: RayLauncher(needs, logs),
        ray_cluster.disconnect,
    )
