"""Workers that know a fleet's runs; one kind owns some environments and rolls out whole chunks."""

from collections.abc import Mapping, Sequence
from typing import Any

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

    def __init__(self, setup: Setup, part: Any, shared: Mapping[str, Array], pulse: Array):
        self.setup, self.shared = setup, shared
        self.pulse = pulse  # steps so far; what is made or played
        self.task = "unknown"  # the one that is made or played, for error messages

    def turn_to(self, run: int, position: int) -> None:
        """Note what is made or played now, for messages."""
        self.task = task_label(self.setup.runs[run].tasks[position])
        self.pulse[1] = self.setup.place(run, position)


class Collector(Worker):
    """Worker that owns some environments of a fleet and rolls out whole chunks in them."""

    def __init__(
        self, setup: Setup, environments: Sequence[int], shared: Mapping[str, Array], pulse: Array
    ):
        super().__init__(setup, environments, shared, pulse)
        self.environments = environments
        shape = setup.policy
        self.policies = [
            [[NumpyPolicy(shape, row) for row in rows] for rows in slot]
            for slot in self.shared["policy"]
        ]  # [slot][environment][part]
        self.columns = Columns(shape.observation_size, shape.action_size)
        # By position: its index in the shared states, and environments that share a simulator.
        self.played: dict[int, tuple[int, list[tuple[list[int], Episodes]]]] = {}

    def handle(self, order: Begin | Chunk) -> Any:
        """Carry out one order and return the answer for the pool."""
        return self.begin(order) if isinstance(order, Begin) else self.roll(order)

    def begin(self, order: Begin) -> None:
        """Build the environments of a stage."""
        self.close()
        self.played = {
            position: (place, self._groups(position, place, order))
            for place, position in enumerate(order.positions)
        }

    def close(self) -> None:
        """Close all simulators."""
        played, self.played = self.played, {}
        for _, groups in played.values():
            for _, episodes in groups:
                self.task = episodes.simulator.task
                episodes.simulator.close()

    def _groups(self, position: int, place: int, order: Begin) -> list[tuple[list[int], Episodes]]:
        states = self.shared["state"][order.slot]
        found = []
        by_task: dict[Any, list[int]] = {}
        for environment in self.environments:
            task = self.setup.run_of(environment).tasks[position]
            by_task.setdefault(task, []).append(environment)
        for task, chosen in by_task.items():
            self.turn_to(chosen[0] // self.setup.environments, position)
            streams = [self.setup.stream(each, TRAINING, position) for each in chosen]
            simulator = make_simulator(task, len(streams), self.setup.world)
            episodes = Episodes(simulator, horizon_steps(task, self.setup.world), streams)
            for slot, environment in enumerate(chosen):
                state = states[environment, place][: episodes.state_size]
                if position in order.fresh:
                    episodes.start(slot)
                    state[:] = episodes.get_state(slot)
                else:
                    episodes.set_state(slot, state)
            found.append((chosen, episodes))
        return found

    def roll(self, order: Chunk) -> list[tuple[int, int, Outcome]]:
        """Roll out a chunk; return the episodes that ended: (environment, position, outcome)."""
        ended: list[tuple[int, int, Outcome]] = []
        for number, part in enumerate(order.parts):
            _, groups = self.played[part.position]
            for chosen, episodes in groups:
                outcomes = self._roll_group(number, part, order.slot, chosen, episodes)
                ended += [(chosen[outcome.slot], part.position, outcome) for outcome in outcomes]
        self._publish((order.slot + 1) % len(self.shared["state"]))
        return ended

    def _publish(self, slot: int) -> None:
        """Leave the states from which the next chunk starts, also those of tasks not rolled out."""
        states = self.shared["state"][slot]
        for place, groups in self.played.values():
            for chosen, episodes in groups:
                for index, environment in enumerate(chosen):
                    states[environment, place][: episodes.state_size] = episodes.get_state(index)

    def _roll_group(
        self, number: int, part: Part, slot: int, chosen: list[int], episodes: Episodes
    ) -> list[Outcome]:
        """Roll out part `number` of a chunk in environments that share a simulator."""
        episodes.expect_next()
        setup = self.setup
        self.turn_to(chosen[0] // setup.environments, part.position)
        steps, first, horizon = setup.chunk_steps, part.first_step, episodes.horizon_steps
        shape, draw = (steps, setup.policy.action_size), noise.draw
        policies = None if part.uniform else [self.policies[slot][each][number] for each in chosen]
        if policies is None:
            draw = noise.draw_uniform
        streams = [setup.stream(each, part.position) for each in chosen]
        draws = [draw(stream, first, shape, setup.noise_colour, horizon) for stream in streams]
        tails = [
            noise.draw_tails(each, first, steps, setup.random_tails, horizon) for each in streams
        ]
        rows = np.empty((len(chosen), steps, self.columns.width), np.float32)
        motion = episodes.simulator.motion
        actor = Actor(policies, np.stack(draws), np.stack(tails), motion, self.pulse)
        outcomes = roll(episodes, actor, rows, self.columns)
        self.shared["rows"][slot, chosen, number] = rows
        return outcomes
