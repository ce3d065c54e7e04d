"""The steps of a chunk in environments of one simulator: act, step, and write the transitions."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from recall.collect.policy import NumpyPolicy
from recall.collect.transition import Columns, Transition
from recall.worlds.episodes import Episodes, Outcome
from recall.worlds.simulator import Array, Step


class Actor:
    """Acts in every environment, with its policy or, without policies, with the drawn numbers."""

    def __init__(
        self,
        policies: Sequence[NumpyPolicy] | None,
        draws: Array,
        tails: Array | None = None,
        motion: slice = slice(None),
        steps: Array | None = None,
    ):
        """Take the policies, one for each environment, and `draws` [environment, step, act].

        Where `tails` [environment, step] is True, draws alone decide the `motion` in an action.
        `steps` [1] is counted up, for those who watch from outside.
        """
        self._policies, self._draws = policies, draws
        self._tails, self._motion = tails, motion
        self._steps = np.zeros(1, np.int64) if steps is None else steps

    def act(self, step: int, observation: Array, actions: Array) -> None:
        """Write the actions of one step to `actions` [environment, act]; observe in float32."""
        self._steps[0] += 1
        if self._policies is None:
            actions[:] = self._draws[:, step]
            return
        # One matrix-vector pass for each: the rounding of a batched product may depend on its size.
        for slot, policy in enumerate(self._policies):
            draw = self._draws[slot, step]
            actions[slot] = policy.act(observation[slot], draw)
            if self._tails is not None and self._tails[slot, step]:
                actions[slot, self._motion] = np.tanh(draw[self._motion])
        finite(actions)


def roll(episodes: Episodes, actor: Actor, rows: Array, columns: Columns) -> list[Outcome]:
    """Fill `rows` [environment, step, columns] with transitions; return the episodes that ended."""
    views = columns.split(rows)
    views.terminated[:] = views.truncated[:] = 0.0
    steps, done = rows.shape[1], 0
    outcomes: list[Outcome] = []
    quick = episodes.simulator.roll(steps)
    while done < steps:
        if quick is None:
            views.observation[:, done] = episodes.observation
            actions = views.action[:, done]
            actor.act(done, views.observation[:, done], actions)
            outcomes += _write(views, done, *episodes.step(actions))
            done += 1
        else:
            end = min(steps, done + episodes.steps_left())
            done, ended = _roll(episodes, quick, actor, views, done, end)
            outcomes += ended
    return outcomes


def _write(rows: Transition, step: int, result: Step, outcomes: list[Outcome]) -> list[Outcome]:
    rows.reward[:, step] = result.reward
    rows.terminated[:, step] = result.terminated
    rows.truncated[:, step] = result.truncated
    rows.next_observation[:, step] = result.observation
    return outcomes


def _roll(
    episodes: Episodes, quick: Any, actor: Actor, rows: Transition, step: int, end: int
) -> tuple[int, list[Outcome]]:
    """Collect the steps up to `end`, or fewer if a slot diverges; return the next step."""
    first = step
    quick.open()
    observation: Array | None = episodes.observation
    while step < end:
        rows.observation[:, step] = observation
        actions = rows.action[:, step]
        actor.act(step, rows.observation[:, step], actions)
        observation = quick.move(actions)
        if observation is None:
            break
        step += 1
    rolled = quick.close()
    rows.reward[:, first:step] = rolled.reward.T
    rows.next_observation[:, first:step] = rolled.observation.swapaxes(0, 1)
    outcomes = episodes.count_rolled(rolled)
    rows.truncated[[outcome.slot for outcome in outcomes], step - 1] = 1.0
    if step < end:
        outcomes += _write(rows, step, *episodes.count(quick.step_diverged()))
        step += 1
    return step, outcomes


def finite(actions: Array) -> Array:
    """Replace non-finite actions in place and return them.

    A run with non-finite numbers keeps stepping here; its failure is reported later.
    """
    # Checked first, because replacing takes several times as long. A sum is finite only if all
    # of its terms are.
    if not math.isfinite(np.add.reduce(actions, None)):
        np.nan_to_num(actions, copy=False, posinf=1.0, neginf=-1.0)
    return actions
