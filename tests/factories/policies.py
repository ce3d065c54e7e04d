"""Policies without any training: of zeros, in fleets' folders, and a good one for pointworld."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from recall.config.resolve import resolve
from recall.config.spec import FleetSpec, Sequences
from recall.config.stored import spec_from
from recall.learn import fleet
from recall.runs.description import read_description
from recall.runs.policies import FINAL, write_policies
from recall.runs.store import Store
from recall.training.agents import agent_of
from recall.worlds import pointworld


def write_untrained(
    folder: Path, sequences: Sequences, seeds: Sequence[int] = (0,), **changes: Any
) -> Path:
    """Write a fleet that has final policies and no others."""
    changes |= {"hidden": (4, 4), "head_layers": 1, "steps_per_task": 300}
    spec = resolve("fine_tuning", sequences, seeds, changes=changes)
    Store.create(folder, spec.describe()).close()
    _write(folder, spec, {FINAL: range(spec.tasks)})
    return folder


def write_learned(folder: Path) -> None:
    """Add the policies of tasks just learned."""
    spec = spec_from(read_description(folder))
    _write(folder, spec, {f"task-{task}": range(task, task + 1) for task in range(spec.tasks)})


def _write(folder: Path, spec: FleetSpec, files: dict[str, range]) -> None:
    shape = fleet.policy_shape(agent_of(spec)[0])
    zeros = np.zeros((len(spec.runs), shape.size), np.float32)
    for label, tasks in files.items():
        write_policies(folder, spec, shape, label, dict.fromkeys(tasks, zeros))


def expert_action(task: str, observation: np.ndarray) -> np.ndarray:
    """A damped pull to the goal of a pointworld task, through its `turn`."""
    spec = pointworld._TASKS[task]
    position, velocity, goal = np.split(observation, 3, axis=-1)
    wanted = 0.3 * (goal - position) - spec.drag * velocity
    return np.clip(wanted / pointworld.FORCE @ np.linalg.inv(np.array(spec.turn)).T, -1.0, 1.0)
