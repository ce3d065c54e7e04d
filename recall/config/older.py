"""Settings of runs from older versions, which lack what did not exist then."""

from collections.abc import Mapping
from typing import Any


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
    # Old heads were scored in episodes of their own, which did not count as steps.
    for name in ("scoring_episodes", "random_steps_after_copy"):
        schedule.pop(name, None)
    found = {**settings, "schedule": schedule}
    # Targets summed one reward, and a copy never took the statistics along.
    if learner := {**settings.get("learner", {})}:
        learner["sac"] = {"n_step": 1, **learner.get("sac", {})}
        learner["popart"] = {**learner.get("popart", {})}
        learner["popart"].pop("copy_statistics", None)
        found["learner"] = learner
    return found
