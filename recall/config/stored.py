"""The spec of a fleet from its run.json, which may be of an older version of the package.

Functions cannot be stored in a file. They are given again, by the fleet's names for them.
"""

import copy
import dataclasses
import functools
import shlex
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from recall.config.spec import FleetSpec, RunSpec
from recall.errors import BadValueError
from recall.methods import METHODS, method_class
from recall.settings import PlasticitySettings, Settings
from recall.settings.checked import from_plain
from recall.settings.scalars import scalars
from recall.worlds.registry import Task, is_gymnasium, is_task, task_label, world_of

# Settings that no longer exist, with the only value that means what all runs do now, and those
# that said how old heads were scored and copied, before they took turns.
_ALWAYS = {"clip_critics": True, "critic_norm": "first"}
_REMOVED = ("random_steps_after_copy", "scoring_episodes")
# What runs did before these settings existed, where their defaults say otherwise or may change.
_BEFORE = {
    "noise_colour": 0.0,
    "random_tails": 0.0,
    "environments": 1,
    "keep_replay": False,
    "boundaries": "announced",
}


def spec_from(
    description: dict[str, Any], functions: Mapping[str, Task] | None = None
) -> FleetSpec:
    """Return the fleet of a `describe` result; `functions` are the tasks that JSON cannot hold."""
    description = completed(description)
    method, settings = description["method"], description["settings"]
    tasks = {task for run in description["runs"] for task in run["tasks"]}
    functions_there = description.get("functions", ())
    known = method["name"] in METHODS and all(map(_is_known, tasks - set(functions_there)))
    if not known and description.get("plugins"):
        names = " ".join(f"--plugin {shlex.quote(name)}" for name in description["plugins"])
        raise BadValueError(
            f"it was trained with plug-ins that are not loaded; name them again: {names} "
            "(in Python, recall.load_plugin), since code that a folder names is not run by itself"
        )
    chosen = from_plain(method_class(method.pop("name")), method)
    given = given_functions(functions_there, functions)
    runs = tuple(
        RunSpec(
            run["name"],
            run["seed"],
            run["sequence"],
            tuple(given.get(task, task) for task in run["tasks"]),
            tuple(run.get("own", {}).items()),
        )
        for run in description["runs"]
    )
    for name in _REMOVED:
        settings["schedule"].pop(name, None)
    spec = FleetSpec(chosen, runs, from_plain(Settings, settings))
    named = {tuple(dict(run.own)) for run in runs}
    if len(named) > 1 or not set(*named) <= set(scalars(spec)):
        raise BadValueError("its runs have values of their own for settings that cannot vary")
    for run in runs:
        spec.alone(run)  # refuses values that no run can have
    return spec


def _is_known(task: str) -> bool:
    """Return True for a task that this process can make, as far as its name tells."""
    if not is_gymnasium(task):
        return is_task(task)
    from recall.worlds.gym_registration import is_registered  # imports Gymnasium

    return is_registered(task)


def completed(description: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run.json with the settings that had another default, or none, at its time."""
    found = copy.deepcopy(dict(description))
    settings = found["settings"]
    schedule, learner = settings["schedule"], dict(settings.get("learner", {}))
    if "chunk_steps" in schedule:
        # Evaluations had as many episodes of both modes; policies were one burst behind, or none.
        if "evaluation_episodes" in schedule:
            schedule.setdefault("deterministic_episodes", schedule["evaluation_episodes"])
        if "overlap" in schedule:
            schedule.setdefault("policy_lag", int(schedule.pop("overlap")))
        settings["schedule"] = _BEFORE | schedule
    if "sac" in learner:
        # Targets summed one reward, and a copied head never took its statistics along.
        learner["sac"] = {"n_step": 1, **learner["sac"]}
        learner["popart"] = dict(learner.get("popart", {}))
        learner["popart"].pop("copy_statistics", None)
        settings["learner"] = {"plasticity": dataclasses.asdict(PlasticitySettings()), **learner}
    for group in (found["method"], learner.get("network")):
        for name, value in _ALWAYS.items():
            if isinstance(group, dict) and group.get(name) == value:
                del group[name]
    return found


def given_functions(names: Collection[str], functions: Any) -> dict[str, Task]:
    """Return the tasks in the argument `functions`, under the fleet's names for them.

    `names` are those of the fleet's tasks that are functions. All of them must be given.
    """
    if functions is not None and not isinstance(functions, Mapping):
        raise BadValueError(
            f"functions is {functions!r}: give a dict from the names of tasks to their functions, "
            f"here {functions_argument(names)}"
        )
    given = dict(functions or {})
    if missing := [name for name in names if name not in given]:
        raise BadValueError(
            f"its tasks are Python functions ({', '.join(missing)}), which cannot be stored in a "
            "file. Give them from Python: recall.resume, recall.evaluate and recall.film take "
            f"{functions_argument(missing)}"
        )
    for name, task in given.items():
        world_of(task)  # refuses what is no task
        own = task_label(task)
        if own != name and own in names:
            raise BadValueError(
                f"functions[{name!r}] is {own}, the name of another task of the fleet: give "
                f"{functions_argument((name, own))}, or a function with a name of its own"
            )
    return {name: _called(name, task) for name, task in given.items()}


def functions_argument(names: Iterable[str]) -> str:
    """Return the argument that hands tasks that are functions to recall.resume and others."""
    return f"functions={{{', '.join(f'{name!r}: {name}' for name in names)}}}"


def _called(name: str, task: Task) -> Task:
    """Return a task under the fleet's name for it, which records and films show.

    The function given now may have another name, such as that of one that makes pictures too.
    """
    if isinstance(task, str) or task_label(task) == name:
        return task
    renamed = functools.partial(task)
    renamed.__name__ = name  # type: ignore[attr-defined]
    return renamed
