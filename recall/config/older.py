"""Settings of runs from older versions, which lack what did not exist then."""

from collections.abc import Mapping
from typing import Any

# How old heads were scored and copied, before they took turns in the first steps of a task.
_REMOVED = ("random_steps_after_copy", "scoring_episodes")


def completed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a run.json with those that had another default when it was written."""
    schedule = dict(settings["schedule"])
    # Before this setting existed, an evaluation had as many episodes of both modes.
    if "evaluation_episodes" in schedule:
        schedule.setdefault("deterministic_episodes", schedule["evaluation_episodes"])
    # Runs explored with white noise, by the policy to the end of every episode.
    if "random_steps" in schedule:
        schedule.setdefault("noise_colour", 0.0)
        schedule.setdefault("random_tails", 0.0)
    # Policies were one burst behind the learner, or none.
    if "overlap" in schedule:
        schedule.setdefault("policy_lag", int(schedule.pop("overlap")))
    # Every run had one environment.
    if "chunk_steps" in schedule:
        schedule.setdefault("environments", 1)
    found = {**settings, "schedule": schedule}
    # Targets summed one reward, and a copied head never took its statistics along.
    if "sac" in (learner := dict(settings.get("learner", {}))):
        learner["sac"] = {"n_step": 1, **learner["sac"]}
        popart = learner.get("popart", {})
        learner["popart"] = {key: popart[key] for key in popart if key != "copy_statistics"}
        found["learner"] = learner
    return found


def without_removed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return `completed` settings without those that exist no more, to evaluate their policies."""
    schedule = {name: each for name, each in settings["schedule"].items() if name not in _REMOVED}
    return {**settings, "schedule": schedule}
