"""Fleets on a cluster: each is a Ray task with the CPUs and GPUs it needs.

Ray finds places and tells of lost nodes; what to do about them is the scheduler's affair, as on one
machine. A fleet's checkpoints are its own, so one that is launched again goes on wherever it is:
its folder is on storage that all nodes share, or is kept under a URL (recall.launch.remote_folder).
A worker process ends with its fleet, which frees the GPU.
"""

import dataclasses
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recall.errors import BadValueError, RecallError
from recall.launch.accelerators import measure
from recall.launch.jobs import ENDS, Event, Job, Kind
from recall.launch.remote_folder import RemoteFolder

_PROBE_SECONDS = 120.0
_ANSWER_SECONDS = 10.0


@dataclass(frozen=True)
class Needs:
    """What one fleet takes of a node."""

    cpus: int
    gpus: int

    def remote(self, function: Callable[..., Any]) -> Any:
        """`function` as a task that takes this much, in a process that ends with it.

        Ray itself never runs it again: whoever waits for it decides.
        """
        options = {"num_cpus": self.cpus, "num_gpus": self.gpus}
        return _ray().remote(max_calls=1, max_retries=0, **options)(function)


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise BadValueError(
            "the Ray launcher needs Ray: `pip install recall-rl[ray]` brings it"
        ) from None
    return ray


def connect(address: str | None) -> None:
    """Join the cluster at `address`, or the one that is found; where there is none, start one."""
    ray = _ray()
    if ray.is_initialized():
        return
    _check_answers(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level="warning")
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        where = "on this machine" if address is None else f"at {address}"
        raise RecallError(f"no Ray cluster answers {where}: {error}") from error


def _check_answers(address: str | None) -> None:
    """Refuse at once what Ray would try to reach for minutes."""
    host, _, port = (address or "").rpartition("//")[2].rpartition(":")
    if not (host and port.isdigit()):
        return  # none given, or a word, such as auto, that Ray understands or refuses
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWER_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise RecallError(
            f"no Ray cluster answers at {address}: {error}. `ray start --head` on that machine "
            "starts one and tells its address"
        ) from error


def disconnect() -> None:
    """Leave the cluster; one that was started for us ends."""
    _ray().shutdown()


def nodes() -> list[dict[str, Any]]:
    """What Ray knows of the living nodes."""
    return [node for node in _ray().nodes() if node["Alive"]]


def needs_of(cpus: int | None, gpus: int | None) -> Needs:
    """What a fleet takes: as given, else a GPU where there are any and its share of the CPUs."""
    resources = [node["Resources"] for node in nodes()]
    if gpus is None:
        gpus = 1 if any(each.get("GPU") for each in resources) else 0
    if cpus is None:
        cpus = min((_share_of_cpus(each, gpus) for each in resources if each.get("CPU")), default=1)
    needs = Needs(cpus, gpus)
    if not places(needs):
        most = {name: max(each.get(name, 0) for each in resources) for name in ("CPU", "GPU")}
        raise BadValueError(
            f"no node of the cluster has {cpus} CPUs and {gpus} GPUs for a fleet; the most that "
            f"one has are {most['CPU']:g} and {most['GPU']:g}: --cpus-per-fleet and "
            "--gpus-per-fleet take less"
        )
    return needs


def _share_of_cpus(resources: dict[str, float], gpus: int) -> int:
    fleets = resources.get("GPU", 0) // gpus if gpus else 1
    return max(1, int(resources["CPU"] // max(1, fleets)))


def places(needs: Needs) -> int:
    """How many fleets the cluster takes at once."""
    return sum(_on_node(node, needs) for node in nodes())


def _on_node(node: dict[str, Any], needs: Needs) -> int:
    resources = node["Resources"]
    cpus = int(resources.get("CPU", 0) // max(1, needs.cpus))
    return min(cpus, int(resources.get("GPU", 0) // needs.gpus)) if needs.gpus else cpus


def least_memory(needs: Needs) -> int:
    """Bytes of each device that a fleet gets, on the node that has the least."""
    ray = _ray()
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
            f"{_PROBE_SECONDS:.0f} seconds; --memory says how much there is without asking"
        )
    # Fleets on one node share its memory equally; a GPU is one fleet's alone.
    return min(ray.get(ref).bytes_each // (1 if needs.gpus else fleets[ref]) for ref in ready)


class _Noticeboard:
    """An actor that fleets tell their events to and the launcher collects them from."""

    def __init__(self) -> None:
        self._events: list[Event] = []

    def tell(self, event: Event) -> None:
        self._events.append(event)

    def collect(self) -> list[Event]:
        found, self._events = self._events, []
        return found


def _train(job: Job, noticeboard: Any, workers: int) -> Event:
    """The task: ends with an event, or with Ray's own exception when its process dies."""
    from recall.api import Stopped
    from recall.launch.job_runner import work

    def tell(event: Event) -> None:
        noticeboard.tell.remote(event)

    try:
        work(job, tell, workers)
    except Stopped as stopped:
        return Event(job.name, "stopped", text=str(stopped))
    except RecallError as error:
        return Event(job.name, "failed", text=str(error))
    return Event(job.name, "finished")


class RayLauncher:
    """All jobs are given to Ray at once, which starts each when there is a place for it."""

    def __init__(self, needs: Needs, logs: Path):
        ray = _ray()
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        display = ray.remote(_Noticeboard).options(num_cpus=0, scheduling_strategy=here)
        self.slots = 1_000_000
        self._noticeboard = display.remote()
        self._task = needs.remote(_train)
        self._workers, self._logs = needs.cpus, logs
        self._running: dict[Any, str] = {}
        self._stopping = False

    def start(self, job: Job) -> None:
        """Hand a job to Ray."""
        if job.storage is not None:
            job = dataclasses.replace(job, attempt=RemoteFolder(job.storage).last_attempt + 1)
        ref = self._task.remote(job, self._noticeboard, self._workers)
        self._running[ref] = job.name

    def events(self, seconds: float) -> Iterable[Event]:
        """What the fleets told, then the ends of those that ended."""
        ray = _ray()
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
            return _ray().get(ref)
        except exceptions.TaskCancelledError:
            return Event(name, "stopped", text="taken back before it began")
        except (exceptions.NodeDiedError, exceptions.LocalRayletDiedError) as error:
            return Event(name, "lost", text=f"its node is lost ({_first_line(error)})")
        except exceptions.RayError as error:  # its process died, or there is a fault in our code
            how: Kind = "stopped" if self._stopping else "failed"
            return Event(
                name, how, text=f"{_last_line(error)} (all of it: {self._log(name, error)})"
            )

    def _log(self, name: str, error: Exception) -> Path:
        self._logs.mkdir(parents=True, exist_ok=True)
        path = self._logs / f"{name}.log"
        with path.open("a") as file:
            print(error, file=file)
        return path

    def stop(self) -> None:
        """Every fleet saves and leaves; those that wait for a place are taken back."""
        self._stopping = True
        self._cancel(force=False)

    def kill(self) -> None:
        """Every fleet ends at once."""
        self._cancel(force=True)

    def _cancel(self, force: bool) -> None:
        for ref in self._running:
            _ray().cancel(ref, force=force)

    def close(self) -> None:
        """Nothing runs any more; the cluster stays."""
        _ray().kill(self._noticeboard)


def _first_line(error: Exception) -> str:
    return str(error).partition(". ")[0]


def _last_line(error: Exception) -> str:
    return str(error).strip().splitlines()[-1]
