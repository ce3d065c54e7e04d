"""Small fleets that live through three tasks on made-up transitions, led as by the trainer."""

import dataclasses
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from recall.collect.task_schedule import TaskSchedule
from recall.collect.transition import Columns
from recall.learn import fleet
from recall.learn.agent import Agent, LearnerState
from recall.learn.method import Gradients
from recall.learn.sac import (
    LossInputs,
    UpdateNoise,
    critic_target,
    gradients_of,
    with_rewards,
)
from recall.learn.turns import take
from recall.methods import METHODS, Method
from recall.nets.arrays import Metrics
from recall.nets.heads import take_heads
from recall.replay import buffer, history
from recall.replay.batch import ReplayView
from recall.settings import LearnerSettings, NetworkSettings

COLUMNS = Columns(observation_size=3, action_size=2)
TASKS, CAPACITY, MEMORY, UPDATES = 3, 32, 16, 2
SEEDS = (3, 3, 4)  # two runs that must agree, and one that must not
SETTINGS = LearnerSettings(network=NetworkSettings(hidden=(16, 16), head_layers=1))
# What makes a method's run small; the rest of its settings are its own.
SMALL: dict[str, Any] = {
    "batch_size": 8,
    "old_batch_size": 8,
    "max_old_tasks": 1,
    "importance_batches": 2,
    "importance_batch_size": 8,
}


def small(method: str | type[Method], **changes: Any) -> Method:
    kind = METHODS[method] if isinstance(method, str) else method
    fields = {field.name: field.default for field in dataclasses.fields(kind)}
    if fields["memory_per_task"]:
        changes.setdefault("memory_per_task", MEMORY)
    if fields["retraining_updates"]:
        changes.setdefault("retraining_updates", UPDATES)
    return kind(**{name: SMALL[name] for name in SMALL if name in fields} | changes)


def agent_of(method: Method, settings: LearnerSettings = SETTINGS) -> Agent:
    return Agent(method, settings, COLUMNS, TASKS)


@cache
def transitions(task: int, runs: int = len(SEEDS)) -> np.ndarray:
    """[run, CAPACITY, width] of one task, the same in all runs; scales differ between tasks."""
    rng = np.random.default_rng(task)
    rows = np.empty((CAPACITY, COLUMNS.width), np.float32)
    observation, action, reward, terminated, truncated, following = COLUMNS.split(rows)
    observation[:] = rng.normal(size=observation.shape)
    action[:] = rng.uniform(-1, 1, action.shape)
    reward[:] = rng.normal(size=CAPACITY) * 10.0**task
    terminated[:] = rng.random(CAPACITY) < 0.1
    truncated[:] = rng.random(CAPACITY) < 0.1
    following[:] = rng.normal(size=following.shape)
    return np.broadcast_to(rows, (runs, *rows.shape)).copy()


class SmallFleet:
    """The calls that recall.training.trainer makes, in its order."""

    def __init__(
        self,
        method: Method,
        seeds: tuple[int, ...] = SEEDS,
        settings: LearnerSettings = SETTINGS,
    ):
        self.method, self.agent, self.runs = method, agent_of(method, settings), len(seeds)
        self.state: LearnerState = fleet.init(self.agent, jnp.asarray(seeds))
        kept = TASKS - 1 if method.stores_old_data() else 0
        memory = method.memory_per_task
        self.memory = CAPACITY if memory is None else memory
        self.replay = buffer.init(COLUMNS, CAPACITY, kept, self.memory, self.runs)
        self.task_schedule = TaskSchedule(method.collects, TASKS, CAPACITY, CAPACITY)
        self.number, self.updates = 0, 0

    @property
    def task(self) -> int:
        return self.task_schedule.current(self.number)

    def view(self) -> ReplayView:
        sizes = np.where(np.arange(TASKS) < self.task, self.memory, 0).astype(np.int32)
        collected = np.where(np.arange(TASKS) <= self.task, CAPACITY, 0).astype(np.int32)
        numbers = (self.task, CAPACITY, sizes, collected, 1)
        return ReplayView(*map(jnp.asarray, numbers))

    def start(self) -> None:
        self.state = fleet.start_task(self.agent, self.state, jnp.asarray(self.task))
        for task in self.task_schedule.played(self.number):
            rows, slot = jnp.asarray(transitions(task, self.runs)), jnp.asarray(0)
            if task == self.task:
                self.replay = history.append(self.replay, rows, slot)
            else:
                self.replay = history.append_old(self.replay, rows, jnp.asarray(task), slot)

    def next_burst(self) -> tuple[Any, ...]:
        """What fleet.burst is called with."""
        groups, number = fleet.groups_of(self.agent, self.task), jnp.asarray(self.updates)
        return self.agent, self.state, self.replay, self.view(), number, groups, UPDATES

    def burst(self) -> Metrics:
        self.state, metrics = fleet.burst(*self.next_burst())
        self.updates += UPDATES
        return metrics

    def end(self) -> None:
        self.state = fleet.end_task(self.agent, self.state, self.replay, self.view())
        if self.method.retraining_updates and self.task < TASKS - 1:
            self.burst()
        if self.method.stores_old_data() and self.task < TASKS - 1:
            if self.method.collects == "current":
                self.replay = fleet.archive(self.agent, self.state, self.replay, self.view())
            else:
                self.replay = history.set_aside(self.replay, jnp.asarray(self.task))
        self.number += 1

    def train(self) -> None:
        self.start()
        self.burst()
        self.end()

    def pass_by(self) -> None:
        """A task that teaches nothing: its start and its end, which compile in no time."""
        self.start()
        self.end()

    def policies(self, task: int, collecting: bool = False) -> np.ndarray:
        return np.asarray(
            fleet.flat_policies(self.agent, self.state, jnp.asarray(task), collecting)
        )

    def one_run(self, run: int = 0) -> tuple[LearnerState, buffer.Replay]:
        """A run's state and replay without the run axis; NumPy slices them and compiles nothing."""
        return jax.tree.map(
            lambda leaf: jnp.asarray(np.asarray(leaf)[run]), (self.state, self.replay)
        )


def gradients(agent, state, batch, weights, key, apart=False) -> tuple[Gradients, Metrics]:
    """Of the losses on a batch that uses the first heads, in order; old and new ones `apart`."""
    arrays = batch._replace(layout=None, heads=None)
    heads = len(batch.heads)
    return _gradients(agent, batch.layout, heads, apart, state, arrays, weights, key)


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _gradients(agent, layout, heads, apart, state, arrays, weights, key):
    batch = arrays._replace(layout=layout, heads=np.arange(heads))
    drawn = UpdateNoise(jnp.zeros(0), jax.random.normal(key, (2, *batch.action.shape)), key)
    if apart:
        part = take(state, batch.heads, heads - 1).trainable
    else:
        part = take_heads(state.trainable, batch.heads)
    inputs = LossInputs(
        agent, state.method_state, batch, with_rewards(agent, part, batch), weights, drawn
    )
    found, losses = gradients_of(inputs, critic_target(inputs))
    return found, losses.metrics


def leaves(tree: Any) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def assert_same(left: Any, right: Any) -> None:
    """Bit for bit."""
    for one, other in zip(leaves(left), leaves(right), strict=True):
        np.testing.assert_array_equal(one, other)
