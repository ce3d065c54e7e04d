"""The place where fleets train: its devices and their memory, and the launcher for it."""

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from recall.errors import RecallError
from recall.plugins.python_process import python_command
from recall.studies.launch.jobs import Launcher
from recall.studies.launch.local import LocalLauncher

_GIBIBYTE = 1024**3
# Share of a host's free memory; workers, checkpoints and other processes need the rest.
_SHARE_OF_HOST = 0.7


@dataclass(frozen=True)
class Room:
    """The resources that one fleet may use, and the number of fleets that there is room for."""

    bytes_per_device: int
    devices: int = 1  # devices of one fleet
    places: int = 1  # fleets that can train at once
    runs_per_fleet: int | None = None  # maximum; None: limited by memory only


@dataclass(frozen=True)
class Place:
    """A machine or cluster with its resources, and how to launch fleets there."""

    room: Room
    title: str
    launcher: Callable[[], Launcher]
    close: Callable[[], None] = lambda: None


class Devices(NamedTuple):
    """The devices that JAX sees in one process, which are all alike."""

    kind: str
    number: int
    bytes_each: int


def measure() -> Devices:
    """Return the devices that JAX sees in this process."""
    import jax

    from recall.training import memory

    devices, there = jax.local_devices(), memory.measure()
    total = _SHARE_OF_HOST * there.host if there.device is None else there.device
    return Devices(devices[0].device_kind, len(devices), int(total / len(devices)))


def probe() -> Devices:
    """Measure this machine's devices in a separate process.

    A process that asks JAX for a GPU reserves most of its memory, so the launcher must not ask.
    """
    command = python_command(
        "import json; from recall.studies.launch import place",
        "print(json.dumps(place.measure()))",
    )
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RecallError(f"the devices cannot be measured: {done.stderr.strip()[-300:]}")
    return Devices(*json.loads(done.stdout.splitlines()[-1]))


def here(logs: Path, at_once: int, runs_per_fleet: int | None, memory: float | None) -> Place:
    """Return this machine as a place for fleets, whose processes write their output to `logs`.

    `memory` is the GiB of each device that a fleet may use; None measures it.
    """
    devices = probe()
    size = devices.bytes_each // at_once if memory is None else int(memory * _GIBIBYTE)
    return Place(
        Room(size, devices.number, at_once, runs_per_fleet),
        f"{devices.number} x {devices.kind}",
        lambda: LocalLauncher(logs, at_once),
    )


def on_cluster(
    logs: Path,
    address: str | None = None,
    cpus: int | None = None,
    gpus: int | None = None,
    runs_per_fleet: int | None = None,
    memory: float | None = None,
) -> Place:
    """Return the Ray cluster at `address`, or a new one, as a place for fleets, as `here` does."""
    from recall.studies.launch import ray_launcher as ray

    ray.connect(address)
    needs = ray.needs_of(cpus, gpus)
    count = ray.places(needs)
    size = ray.least_memory(needs, measure) if memory is None else int(memory * _GIBIBYTE)
    return Place(
        Room(size, max(1, needs.gpus), count, runs_per_fleet),
        f"{count} places of {needs.cpus} CPUs and {needs.gpus} GPUs",
        lambda: ray.RayLauncher(needs, logs),
        ray.disconnect,
    )
