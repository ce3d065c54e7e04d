"""The simulators in which a film is shot, and the tasks that cannot be drawn."""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from typing import NamedTuple

import numpy as np

from recall.config.spec import RunSpec
from recall.filming.episode import picture
from recall.filming.takes import Take
from recall.settings import WorldSettings
from recall.worlds.registry import horizon_steps, make_simulator
from recall.worlds.simulator import DrawingError, Simulator


class Shot(NamedTuple):
    """A take with a simulator of its task, and the longest length of an episode."""

    take: Take
    simulator: Simulator
    horizon_steps: int


def shots_of(
    run: RunSpec,
    takes: Sequence[Take],
    world: WorldSettings,
    size: tuple[int, int],
    simulators: ExitStack,
) -> tuple[list[Shot], dict[str, str]]:
    """Return a shot for each take, and why tasks are left out that cannot be drawn, by task.

    Every simulator draws its first picture here, so that nothing is filmed in vain. If no task can
    be drawn, an error says why. The simulators are closed with `simulators`.
    """
    shots: list[Shot] = []
    left_out: dict[str, str] = {}
    for take in takes:
        if take.task in left_out:
            continue
        task = run.tasks[take.position]
        simulator = make_simulator(task, 1, world)
        simulators.enter_context(closing(simulator))
        simulator.reset(0, np.random.default_rng(0))
        try:
            picture(simulator, size)
        except DrawingError as error:
            left_out[take.task] = str(error)
            continue
        shots.append(Shot(take, simulator, horizon_steps(task, world)))
    if not shots:
        raise DrawingError("; ".join(dict.fromkeys(left_out.values())))
    return shots, left_out


def left_out_lines(left_out: dict[str, str]) -> list[str]:
    """Return a line for each reason why tasks are left out of a film."""
    tasks: dict[str, list[str]] = {}
    for task, why in left_out.items():
        tasks.setdefault(why, []).append(task)
    return [f"the film leaves out {', '.join(names)}: {why}" for why, names in tasks.items()]
