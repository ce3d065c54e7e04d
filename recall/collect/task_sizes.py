"""The sizes of observations, actions and simulator states, read from the tasks' simulators."""

from collections.abc import Sequence

from recall.collect.transition import Columns
from recall.settings import WorldSettings
from recall.worlds.episodes import Episodes
from recall.worlds.registry import Task, check_same_shapes, make_simulator


def task_sizes(tasks: Sequence[Task], settings: WorldSettings) -> tuple[Columns, int]:
    """Return the tasks' observation and action sizes, and the largest simulator state's size."""
    simulators = [make_simulator(task, 1, settings) for task in tasks]
    try:
        check_same_shapes(simulators)
        first = simulators[0]
        columns = Columns(first.observation_space.shape[0], first.action_space.shape[0])
        return columns, max(Episodes(each, 1, [(0,)]).state_size for each in simulators)
    finally:
        for simulator in simulators:
            simulator.close()
