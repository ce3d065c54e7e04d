"""The policies that a film shows: those of one run on its tasks, at one time or at both."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from recall.collect.policy import NumpyPolicy
from recall.config.spec import FleetSpec, RunSpec
from recall.errors import BadValueError, UnknownNameError
from recall.files.fleet_layout import FINAL, learnt
from recall.filming.nothing_to_film import nothing_to_film
from recall.learn import fleet
from recall.runs.policies import has_policies, read_policy
from recall.training.agents import agent_of
from recall.worlds.task_names import TaskName, chosen_positions, numbered, positions_of

When = Literal["before", "after", "both"]


@dataclass
class Take:
    """One policy on its task, and the results of its episodes."""

    task: str
    when: str
    position: int
    policy: NumpyPolicy
    successes: list[bool] = field(default_factory=list)


def chosen_run(
    folder: Path,
    spec: FleetSpec,
    name: str | None,
    seed: int | None,
    tasks: Sequence[TaskName] | None,
) -> RunSpec:
    """Return the first run of that name and seed that has the tasks, and policies if any has."""
    if name is not None and name not in [run.name for run in spec.runs]:
        raise UnknownNameError("run of this fleet", name, [run.name for run in spec.runs])
    if seed is not None and seed not in [run.seed for run in spec.runs]:
        there = " ".join(str(seed) for seed in dict.fromkeys(run.seed for run in spec.runs))
        raise BadValueError(f"no run has seed {seed}; there are {there}")
    matching = [run for run in spec.runs if name in (None, run.name) and seed in (None, run.seed)]
    if not matching:
        raise BadValueError(f"run {name} has another seed than {seed}: leave one of them out")
    known = dict.fromkeys(shown for run in matching for shown in numbered(run.task_names))
    having = {
        task: [run for run in matching if positions_of(task, run.task_names)]
        for task in tasks or ()
    }
    for task, runs in having.items():
        if not runs:
            raise UnknownNameError("task of this fleet", task, known)
    matching = [run for run in matching if all(run in runs for runs in having.values())]
    if not matching:
        raise BadValueError(f"no single run has all of the tasks {', '.join(map(str, having))}")
    return next((run for run in matching if has_policies(folder, run.name)), matching[0])


def takes_of(
    folder: Path, spec: FleetSpec, run: RunSpec, tasks: Sequence[TaskName] | None, when: When
) -> list[Take]:
    """Return every chosen task at every chosen time for which there is a policy."""
    shape = fleet.policy_shape(agent_of(spec)[0])
    titles = numbered(run.task_names)
    takes = []
    for position in chosen_positions(tasks, run.task_names):
        for time in ("before", "after") if when == "both" else (when,):
            file = learnt(position) if time == "before" else FINAL
            vector = read_policy(folder, run.name, position, file, run.task_names, shape.size)
            if vector is not None:
                takes.append(Take(titles[position], time, position, NumpyPolicy(shape, vector)))
    if not takes:
        raise BadValueError(nothing_to_film(folder, run.name, titles, when))
    return takes
