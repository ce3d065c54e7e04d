"""Workers that know a fleet's runs; one kind owns some environments and rolls out whole chunks."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from recall.collect import noise
from recall.collect.messages import TRAINING, Begin, Chunk, Part, Setup
from recall.collect.policy import NumpyPolicy
from recall.collect.rolling import Actor, roll
from recall.collect.transition import Columns
from recall.worlds.episodes import Episodes, Outcome
from recall.worlds.registry import horizon_steps, make_simulator, task_label
from recall.worlds.simulator import Array


class Worker:
    """Worker that knows the runs of a fleet."""

    def __init__(self, setup: Setup, part: Any, shared: Mapping[str, Array], index: int):
        self.setup, self.shared = setup, shared
        self.doing = shared["doing"][index]  # what is made or played; steps so far
        self.task = "unknown"  # the one that is made or played, for error messages

    def turn_to(self, run: int, position: int) -> None:
        """Note what is made or played now, for messages."""
        self.task = task_label(self.setup.runs[run].tasks[position])
        self.doing[0] = self.setup.place(run, position)


class _Group(NamedTuple):
    """Environments that share a simulator."""

    position: int  # of their task
    place: int  # of the task in the shared states
    environments: list[int]
    episodes: Episodes


class Collector(Worker):
    """Worker that owns some environments of a fleet and rolls out whole chunks in them."""

    def __init__(
        self, setup: Setup, environments: Sequence[int], shared: Mapping[str, Array], index: int
    ):
        super().__init__(setup, environments, shared, index)
        self.environments = environments
        shape = setup.policy
        self.policies = [
            [[NumpyPolicy(shape, row) for row in rows] for rows in slot]
            for slot in self.shared["policy"]
        ]  # [slot][environment][part]
        self.columns = Columns(shape.observation_size, shape.action_size)
        self.groups: list[_Group] = []

    def handle(self, order: Begin | Chunk) -> Any:
        """Carry out one order and return the answer for the pool."""
        return self.begin(order) if isinstance(order, Begin) else self.roll(order)

    def begin(self, order: Begin) -> None:
        """Build the environments of a stage."""
        self.close()
        setup, states = self.setup, self.shared["state"][order.slot]
        for place, position in enumerate(order.positions):
            by_task: dict[Any, list[int]] = {}
            for environment in self.environments:
                by_task.setdefault(setup.run_of(environment).tasks[position], []).append(
                    environment
                )
            for task, chosen in by_task.items():
                self.turn_to(chosen[0] // setup.schedule.environments, position)
                streams = [setup.stream(each, TRAINING, position) for each in chosen]
                simulator = make_simulator(task, len(streams), setup.world)
                episodes = Episodes(simulator, horizon_steps(task, setup.world), streams)
                self.groups.append(_Group(position, place, chosen, episodes))
                for slot, environment in enumerate(chosen):
                    state = states[environment, place][: episodes.state_size]
                    if position in order.fresh:
                        episodes.start(slot)
                        state[:] = episodes.get_state(slot)
                    else:
                        episodes.set_state(slot, state)

    def close(self) -> None:
        """Close all simulators."""
        while self.groups:
            simulator = self.groups.pop().episodes.simulator
            self.task = simulator.task
            simulator.close()

    def roll(self, order: Chunk) -> list[tuple[int, int, Outcome]]:
        """Roll out a chunk; return the episodes that ended: (environment, position, outcome)."""
        ended: list[tuple[int, int, Outcome]] = []
        for number, part in enumerate(order.parts):
            for position, _, chosen, episodes in self.groups:
                if position == part.position:
                    outcomes = self._roll_group(number, part, order.slot, chosen, episodes)
                    ended += [(chosen[outcome.slot], position, outcome) for outcome in outcomes]
        # From these states the next chunk starts, also those of tasks that were not rolled out.
        states = self.shared["state"][(order.slot + 1) % len(self.shared["state"])]
        for _, place, chosen, episodes in self.groups:
            for slot, environment in enumerate(chosen):
                states[environment, place][: episodes.state_size] = episodes.get_state(slot)
        return ended

    def _roll_group(
        self, number: int, part: Part, slot: int, chosen: list[int], episodes: Episodes
    ) -> list[Outcome]:
        """Roll out part `number` of a chunk in environments that share a simulator."""
        episodes.expect_next()
        setup, schedule = self.setup, self.setup.schedule
        self.turn_to(chosen[0] // schedule.environments, part.position)
        steps = schedule.chunk_steps // schedule.environments
        first, horizon = part.first_step, episodes.horizon_steps
        shape = (steps, setup.policy.action_size)
        draw = noise.draw_uniform if part.uniform else noise.draw
        policies = None if part.uniform else [self.policies[slot][each][number] for each in chosen]
        streams = [setup.stream(each, part.position) for each in chosen]
        draws = [draw(stream, first, shape, schedule.noise_colour, horizon) for stream in streams]
        tails = [
            noise.draw_tails(each, first, steps, schedule.random_tails, horizon) for each in streams
        ]
        rows = np.empty((len(chosen), steps, self.columns.width), np.float32)
        motion = episodes.simulator.motion
        actor = Actor(policies, np.stack(draws), np.stack(tails), motion, self.doing[1:])
        outcomes = roll(episodes, actor, rows, self.columns)
        self.shared["rows"][slot, chosen, number] = rows
        return outcomes
