"""Launching of fleets on a cluster: each fleet is a Ray task with the CPUs and GPUs it needs.

Ray places the tasks and reports lost nodes; the scheduler decides what to do about them, as on one
machine. Each fleet has its own checkpoints, so it can resume on any node: its folder is on storage
that all nodes share, or is stored under a URL (recall.studies.launch.remote_folder). A worker
process ends with its fleet, which frees the GPU.
"""

import dataclasses
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recall.errors import BadValueError, RecallError
from recall.studies.launch.accelerators import measure
from recall.studies.launch.jobs import ENDS, Event, Job, Kind
from recall.studies.launch.ray_cluster import connect, disconnect, load_ray
from recall.studies.launch.remote_folder import RemoteFolder

__all__ = ["Needs", "RayLauncher", "connect", "disconnect", "least_memory", "needs_of", "places"]

_PROBE_SECONDS = 120.0


@dataclass(frozen=True)
class Needs:
    """The resources of a node that one fleet needs."""

    cpus: int
    gpus: int

    def remote(self, function: Callable[..., Any]) -> Any:
        """Return `function` as a Ray task with these resources, in a process that ends with it.

        Ray itself never retries the task; the caller decides.
        """
        options = {"num_cpus": self.cpus, "num_gpus": self.gpus}
        return load_ray().remote(max_calls=1, max_retries=0, **options)(function)


def nodes() -> list[dict[str, Any]]:
    """Return Ray's descriptions of the nodes that are alive."""
    return [node for node in load_ray().nodes() if node["Alive"]]


def needs_of(cpus: int | None, gpus: int | None) -> Needs:
    """Return a fleet's needs: as given, else a GPU if there are any, and its share of the CPUs."""
    resources = [node["Resources"] for node in nodes()]
    if gpus is None:
        gpus = 1 if any(each.get("GPU") for each in resources) else 0
    if cpus is None:
        cpus = min((_share_of_cpus(each, gpus) for each in resources if each.get("CPU")), default=1)
    needs = Needs(cpus, gpus)
    if not places(needs):
        most = {name: max(each.get(name, 0) for each in resources) for name in ("CPU", "GPU")}
        raise BadValueError(
            f"no node of the cluster has {cpus} CPUs and {gpus} GPUs for a fleet; the largest "
            f"numbers on a node are {most['CPU']:g} and {most['GPU']:g}: choose smaller "
            "--cpus-per-fleet and --gpus-per-fleet"
        )
    return needs


def _share_of_cpus(resources: dict[str, float], gpus: int) -> int:
    fleets = resources.get("GPU", 0) // gpus if gpus else 1
    return max(1, int(resources["CPU"] // max(1, fleets)))


def places(needs: Needs) -> int:
    """Return the number of fleets that the cluster can train at once."""
    return sum(_on_node(node, needs) for node in nodes())


def _on_node(node: dict[str, Any], needs: Needs) -> int:
    resources = node["Resources"]
    cpus = int(resources.get("CPU", 0) // max(1, needs.cpus))
    return min(cpus, int(resources.get("GPU", 0) // needs.gpus)) if needs.gpus else cpus


def least_memory(needs: Needs) -> int:
    """Return the bytes of each device that a fleet gets on the node with the least memory."""
    ray = load_ray()
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    task = needs.remote(measure)
    fleets = {}
    for node in nodes():
        if _on_node(node, needs):
            there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            fleets[task.options(scheduling_strategy=there).remote()] = _on_node(node, needs)
    ready, busy = ray.wait(list(fleets), num_returns=len(fleets), timeout=_PROBE_SECONDS)
    for ref in busy:
        ray.cancel(ref)
    if not ready:
        raise RecallError(
            f"no node with {needs.cpus} CPUs and {needs.gpus} GPUs was free within "
            f"{_PROBE_SECONDS:.0f} seconds; give the memory with --memory instead"
        )
    # Fleets on one node share its memory equally; a GPU belongs to one fleet.
    return min(ray.get(ref).bytes_each // (1 if needs.gpus else fleets[ref]) for ref in ready)


class _Noticeboard:
    """An actor to which fleets send events and from which the launcher collects them."""

    def __init__(self) -> None:
        self._events: list[Event] = []

    def tell(self, event: Event) -> None:
        self._events.append(event)

    def collect(self) -> list[Event]:
        found, self._events = self._events, []
        return found


def _train(job: Job, noticeboard: Any, cpus: int) -> Event:
    """Run a job as a Ray task; return its last event. Ray raises an error if the process dies."""
    from recall.api import Stopped
    from recall.studies.launch.job_runner import work

    def tell(event: Event) -> None:
        noticeboard.tell.remote(event)

    try:
        work(job, tell, cpus)
    except Stopped as stopped:
        return Event(job.name, "stopped", text=str(stopped))
    except RecallError as error:
        return Event(job.name, "failed", text=str(error))
    return Event(job.name, "finished")


class RayLauncher:
    """Gives all jobs to Ray at once; Ray starts each job when resources are free."""

    def __init__(self, needs: Needs, logs: Path):
        ray = load_ray()
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        display = ray.remote(_Noticeboard).options(num_cpus=0, scheduling_strategy=here)
        self.slots = 1_000_000
        self._noticeboard = display.remote()
        self._task = needs.remote(_train)
        self._cpus, self._logs = needs.cpus, logs
        self._running: dict[Any, str] = {}
        self._stopping = False

    def start(self, job: Job) -> None:
        """Submit a job to Ray."""
        if job.storage is not None:
            job = dataclasses.replace(job, attempt=RemoteFolder(job.storage).last_attempt + 1)
        ref = self._task.remote(job, self._noticeboard, self._cpus)
        self._running[ref] = job.name
        if self._stopping:  # since `stop` was called in another thread, perhaps without this job
            load_ray().cancel(ref, force=False)

    def events(self, seconds: float) -> Iterable[Event]:
        """Yield the events of the fleets, then the ends of those that ended."""
        ray = load_ray()
        ended, _ = ray.wait(list(self._running), timeout=seconds) if self._running else ([], [])
        if not self._running:
            time.sleep(seconds)
        told = ray.get(self._noticeboard.collect.remote())
        yield from (event for event in told if event.kind not in ENDS)
        for ref in ended:
            yield self._end(ref, self._running.pop(ref))

    def _end(self, ref: Any, name: str) -> Event:
        from ray import exceptions

        try:
            return load_ray().get(ref)
        except exceptions.TaskCancelledError:
            return Event(name, "stopped", text="cancelled before it started")
        except (exceptions.NodeDiedError, exceptions.LocalRayletDiedError) as error:
            return Event(name, "lost", text=f"its node is lost ({_first_line(error)})")
        except exceptions.RayError as error:  # its process died, or our code has a bug
            how: Kind = "stopped" if self._stopping else "failed"
            return Event(
                name, how, text=f"{_last_line(error)} (full log: {self._log(name, error)})"
            )

    def _log(self, name: str, error: Exception) -> Path:
        self._logs.mkdir(parents=True, exist_ok=True)
        path = self._logs / f"{name}.log"
        with path.open("a") as file:
            print(error, file=file)
        return path

    def stop(self) -> None:
        """Ask every fleet to save and exit; cancel those that have not started."""
        self._stopping = True
        self._cancel(force=False)

    def kill(self) -> None:
        """End every fleet at once."""
        self._cancel(force=True)

    def _cancel(self, force: bool) -> None:
        for ref in list(self._running):  # another thread adds and removes jobs meanwhile
            load_ray().cancel(ref, force=force)

    def close(self) -> None:
        """End the noticeboard; no job is running any more, and the cluster stays up."""
        load_ray().kill(self._noticeboard)


def _first_line(error: Exception) -> str:
    return str(error).partition(". ")[0]


def _last_line(error: Exception) -> str:
    return str(error).strip().splitlines()[-1]
