"""Launching of fleets on a cluster: each fleet is a Ray task with the CPUs and GPUs it needs.

Ray places the tasks and reports lost nodes; the scheduler decides what to do about them, as on one
machine. Each fleet has its own checkpoints in a folder that all nodes share, so it can resume on
any node. A worker process ends with its fleet, which frees the GPU.
"""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from recall.errors import RecallError
from recall.studies.launch.jobs import Event, Job, Kind
from recall.studies.launch.ray_cluster import Needs, load_ray


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
        self._noticeboard = (
            ray.remote(_Noticeboard).options(num_cpus=0, scheduling_strategy=here).remote()
        )
        self.slots = 1_000_000
        self._task = needs.remote(_train)
        self._cpus, self._logs = needs.cpus, logs
        self._running: dict[Any, str] = {}
        self._stopping = False

    def start(self, job: Job) -> None:
        """Submit a job to Ray."""
        ref = self._task.remote(job, self._noticeboard, self._cpus)
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
        yield from ray.get(self._noticeboard.collect.remote())
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
        """End the noticeboard; no job is running any more, and the cluster stays up."""
        load_ray().kill(self._noticeboard)
