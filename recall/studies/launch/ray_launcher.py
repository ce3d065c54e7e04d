"""Launching of fleets on a Ray cluster: each fleet is a task with the CPUs and GPUs it needs.

Ray places the tasks and reports lost nodes; the scheduler decides what to do about them. A fleet
resumes on any node, from a folder that all nodes share.
"""

import os
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recall.errors import BadValueError, RecallError, required
from recall.studies.launch.jobs import Event, Job, Kind

_ANSWER_SECONDS = 10.0
_PROBE_SECONDS = 120.0
_OPTIONS = {"log_to_driver": False, "logging_level": "warning"}


def load_ray() -> Any:
    """Return the module `ray`, or raise an error that says how to install it."""
    return required("ray", "the Ray launcher")


def connect(address: str | None) -> None:
    """Join the cluster at `address` or RAY_ADDRESS; with neither, start one on this machine.

    A running cluster that nobody named is never joined: on a shared host it may be another user's.
    """
    ray = load_ray()
    if ray.is_initialized():
        return
    where = address or os.environ.get("RAY_ADDRESS")
    if where is None:
        _start(ray)
        return
    _check_answers(where)
    try:
        ray.init(address=where, **_OPTIONS)
    except Exception as error:  # Ray raises errors of many types
        raise RecallError(f"no Ray cluster answers at {where}: {_first_line(error)}") from error


def _start(ray: Any) -> None:
    """Start a cluster whose ports are open to this machine only."""
    from ray._private import ray_constants

    # Ray listens on loopback alone where it does not expect other machines, which it decides by
    # this variable: in this process at import, and in the processes that it starts.
    os.environ[ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR] = "0"
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        ray.init(address="local", include_dashboard=False, **_OPTIONS)
    except Exception as error:  # Ray raises errors of many types
        ray.shutdown()
        raise RecallError(
            f"a Ray cluster on this machine did not start: {_first_line(error)}. "
            "--launcher local needs no Ray"
        ) from error


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:200].rstrip(". ")


def _check_answers(address: str) -> None:
    """Raise an error at once for an address that Ray would try to reach for minutes."""
    host, _, port = address.rpartition("//")[2].rpartition(":")
    if not (host and port.isdigit()):
        return  # a word, such as auto, that Ray itself accepts or refuses
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWER_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise RecallError(
            f"no Ray cluster answers at {address}: {error}. `ray start --head` on that machine "
            "starts one and prints its address"
        ) from error


def disconnect() -> None:
    """Disconnect from the cluster; a cluster that `connect` started is shut down."""
    load_ray().shutdown()


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


def _nodes() -> list[dict[str, Any]]:
    return [node for node in load_ray().nodes() if node["Alive"]]


def needs_of(cpus: int | None, gpus: int | None) -> Needs:
    """Return a fleet's needs: as given, else a GPU if there are any, and its share of the CPUs."""
    resources = [node["Resources"] for node in _nodes()]
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
    return sum(_on_node(node, needs) for node in _nodes())


def _on_node(node: dict[str, Any], needs: Needs) -> int:
    resources = node["Resources"]
    cpus = int(resources.get("CPU", 0) // max(1, needs.cpus))
    return min(cpus, int(resources.get("GPU", 0) // needs.gpus)) if needs.gpus else cpus


def least_memory(needs: Needs, measure: Callable[[], Any]) -> int:
    """Return the bytes of each device that a fleet gets on the node with the least memory."""
    ray = load_ray()
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    task = needs.remote(measure)
    fleets = {}
    for node in _nodes():
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


def _train(job: Job, queue: Any, cpus: int) -> Event:
    """Run a job as a Ray task; return its last event. Ray raises an error if the process dies."""
    from recall.studies.launch.job_runner import work

    def tell(event: Event) -> None:
        queue.actor.put_nowait.remote(event)  # an answer is not waited for

    return work(job, tell, cpus)


class RayLauncher:
    """Gives all jobs to Ray at once; Ray starts each job when resources are free."""

    def __init__(self, needs: Needs, logs: Path):
        ray = load_ray()
        from ray.util.queue import Queue
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self._queue = Queue(actor_options={"num_cpus": 0, "scheduling_strategy": here})
        self.slots = 1_000_000
        self._task = needs.remote(_train)
        self._cpus, self._logs = needs.cpus, logs
        self._running: dict[Any, str] = {}
        self._stopping = False

    def start(self, job: Job) -> None:
        """Submit a job to Ray."""
        ref = self._task.remote(job, self._queue, self._cpus)
        self._running[ref] = job.name
        if self._stopping:  # since `stop` was called in another thread, perhaps without this job
            load_ray().cancel(ref, force=False)

    def events(self, seconds: float) -> Iterable[Event]:
        """Yield the events of the fleets, then the ends of those that ended."""
        ray = load_ray()
        if self._running:
            ended, _ = ray.wait(list(self._running), timeout=seconds)
        else:
            ended = []
            time.sleep(seconds)
        yield from self._queue.get_nowait_batch(self._queue.qsize())
        for ref in ended:
            yield self._end(ref, self._running.pop(ref))

    def _end(self, ref: Any, name: str) -> Event:
        from ray import exceptions

        try:
            return load_ray().get(ref)
        except exceptions.TaskCancelledError:
            return Event(name, "stopped", text="cancelled before it started")
        except (exceptions.NodeDiedError, exceptions.LocalRayletDiedError) as error:
            return Event(name, "lost", text=f"its node is lost ({str(error).partition('. ')[0]})")
        except exceptions.RayError as error:  # its process died, or our code has a bug
            how: Kind = "stopped" if self._stopping else "failed"
            last_line = str(error).strip().splitlines()[-1]
            return Event(name, how, text=f"{last_line} (full log: {self._log(name, error)})")

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
        """End the queue of events; no job is running any more, and the cluster stays up."""
        self._queue.shutdown(force=True)
