"""Settings of runs from older versions, which lack what did not exist then."""

from collections.abc import Mapping
from typing import Any


def completed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a run.json with those that had another default when it was written."""
    schedule = dict(settings["schedule"])
    # Before this setting existed, an evaluation had as many episodes of both modes.
    if "evaluation_episodes" in schedule:
        schedule.setdefault("deterministic_episodes", schedule["evaluation_episodes"])
    # Runs explored with white noise, and a copied policy acted at once.
    if "random_steps" in schedule:
        schedule.setdefault("noise_colour", 0.0)
        schedule.setdefault("random_steps_after_copy", 0)
    # Policies were one burst behind the learner, or none.
    if "overlap" in schedule:
        schedule.setdefault("policy_lag", int(schedule.pop("overlap")))
    # Every run had one environment.
    if "chunk_steps" in schedule:
        schedule.setdefault("environments", 1)
    return {**settings, "schedule": schedule}
